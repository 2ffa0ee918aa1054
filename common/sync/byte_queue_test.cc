#include "common/sync/byte_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "common/sync/thread.h"

namespace headrace {
namespace {

absl::Time Soon() { return absl::Now() + absl::Seconds(30); }

TEST(ByteQueueTest, ItemsComeOutInOrder) {
  ByteQueue<int> queue(100);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(queue.Push(int{i}, 10, Soon()).ok());
  EXPECT_EQ(queue.bytes(), 30);
  EXPECT_EQ(queue.size(), 3u);
  EXPECT_DOUBLE_EQ(queue.fill(), 0.3);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(queue.Pop(Soon()).value(), i);
  EXPECT_EQ(queue.bytes(), 0);
}

TEST(ByteQueueTest, AFullQueueRefusesAndLeavesTheItemAlone) {
  ByteQueue<std::unique_ptr<int>> queue(100);
  ASSERT_TRUE(queue.TryPush(std::make_unique<int>(1), 70));
  auto item = std::make_unique<int>(2);
  EXPECT_FALSE(queue.TryPush(std::move(item), 31));
  EXPECT_EQ(queue.Push(std::move(item), 31, absl::Now()).code(),
            absl::StatusCode::kDeadlineExceeded);
  ASSERT_NE(item, nullptr);
  EXPECT_TRUE(queue.TryPush(std::move(item), 30));
}

TEST(ByteQueueTest, AnItemLargerThanTheLimitPassesAlone) {
  ByteQueue<int> queue(100);
  ASSERT_TRUE(queue.TryPush(1, 1));
  EXPECT_FALSE(queue.TryPush(2, 1000));
  EXPECT_EQ(queue.TryPop(), 1);
  EXPECT_TRUE(queue.TryPush(2, 1000));
  EXPECT_FALSE(queue.TryPush(3, 1));
  EXPECT_EQ(queue.TryPop(), 2);
}

TEST(ByteQueueTest, CloseDrainsThenEnds) {
  ByteQueue<int> queue(100);
  ASSERT_TRUE(queue.TryPush(1, 1));
  queue.Close();
  EXPECT_EQ(queue.Push(2, 1, Soon()).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(queue.TryPush(2, 1));
  EXPECT_FALSE(queue.AtEnd());
  EXPECT_EQ(queue.Pop(Soon()).value(), 1);
  EXPECT_TRUE(queue.AtEnd());
  EXPECT_EQ(queue.Pop(Soon()).value(), std::nullopt);
}

TEST(ByteQueueTest, AnEmptyQueuesPopEndsAtItsDeadline) {
  ByteQueue<int> queue(100);
  EXPECT_EQ(queue.Pop(absl::Now()).status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(queue.TryPop(), std::nullopt);
  EXPECT_FALSE(queue.AtEnd());
}

TEST(ByteQueueTest, AbortDropsTheItemsAndWakesBothSides) {
  ByteQueue<std::shared_ptr<int>> full(10);
  auto item = std::make_shared<int>(1);
  ASSERT_TRUE(full.TryPush(std::shared_ptr<int>(item), 10));
  ByteQueue<int> empty(10);
  absl::Status pushed, popped;
  {
    Thread producer("producer", [&] { pushed = full.Push(std::make_shared<int>(2), 10, Soon()); });
    Thread consumer("consumer", [&] { popped = empty.Pop(Soon()).status(); });
    full.Abort(Unavailable("worker lost"));
    full.Abort(Internal("later"));
    empty.Abort(Unavailable("worker lost"));
  }
  EXPECT_EQ(pushed, Unavailable("worker lost"));
  EXPECT_EQ(popped, Unavailable("worker lost"));
  EXPECT_EQ(item.use_count(), 1);
  EXPECT_EQ(full.bytes(), 0);
  EXPECT_TRUE(full.AtEnd());
  EXPECT_FALSE(full.TryPush(std::move(item), 1));
}

TEST(ByteQueueTest, ManyProducersAndConsumersLoseAndDoubleNothing) {
  constexpr int kProducers = 3, kConsumers = 3, kEach = 1000;
  ByteQueue<int> queue(64);
  std::vector<std::atomic<int>> seen(kProducers * kEach);
  std::atomic<int64_t> most = 0;
  {
    std::vector<Thread> consumers;
    for (int c = 0; c < kConsumers; ++c) {
      consumers.emplace_back("consumer", [&] {
        for (;;) {
          absl::StatusOr<std::optional<int>> item = queue.Pop(Soon());
          ASSERT_TRUE(item.ok());
          if (!item->has_value()) return;
          ++seen[**item];
          most = std::max(most.load(), queue.bytes());
        }
      });
    }
    std::vector<Thread> producers;
    for (int p = 0; p < kProducers; ++p) {
      producers.emplace_back("producer", [&, p] {
        for (int i = 0; i < kEach; ++i) {
          ASSERT_TRUE(queue.Push(p * kEach + i, 1 + i % 30, Soon()).ok());
        }
      });
    }
    producers.clear();
    queue.Close();
  }
  for (const std::atomic<int>& count : seen) EXPECT_EQ(count, 1);
  EXPECT_LE(most, 64);
}

}  // namespace
}  // namespace headrace
