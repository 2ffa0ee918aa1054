#include "dispatcher/journal/commit_queue.h"

#include <gtest/gtest.h>

#include <thread>

#include "absl/synchronization/notification.h"
#include "common/status.h"

namespace headrace {
namespace {

std::vector<v1::Event> Events(std::initializer_list<int64_t> times) {
  std::vector<v1::Event> events;
  for (const int64_t time : times) events.emplace_back().set_at_unix_ms(time);
  return events;
}

// Keeps what it is handed, at most `most` at once.
struct Kept {
  size_t most = 1000;
  uint64_t next = 0;
  std::vector<int64_t> times = {};
  std::vector<size_t> lots = {};

  absl::StatusOr<size_t> Take(std::span<v1::Event> events, uint64_t position) {
    EXPECT_EQ(position, next);
    const size_t count = std::min(most, events.size());
    for (size_t i = 0; i < count; ++i) times.push_back(events[i].at_unix_ms());
    next += count;
    lots.push_back(count);
    return count;
  }
};

CommitQueue::Commit Into(Kept& kept) {
  return [&kept](std::span<v1::Event> events, uint64_t position) {
    return kept.Take(events, position);
  };
}

TEST(CommitQueueTest, WhatIsWaitedForIsKeptInOrder) {
  Kept kept{.next = 7};
  CommitQueue queue;
  queue.Start(7, Into(kept));
  EXPECT_TRUE(queue.WaitDurable(queue.Append({})).ok());
  EXPECT_EQ(queue.Append(Events({1, 2})), 9u);
  const uint64_t end = queue.Append(Events({3}));
  EXPECT_EQ(end, 10u);
  EXPECT_TRUE(queue.WaitDurable(end).ok());
  EXPECT_EQ(queue.durable(), end);
  queue.Stop();
  EXPECT_EQ(kept.times, (std::vector<int64_t>{1, 2, 3}));
}

TEST(CommitQueueTest, WhatCameWhileOneLotWasWrittenGoesWithTheNext) {
  Kept kept;
  absl::Notification begun, go_on;
  CommitQueue queue;
  queue.Start(0, [&](std::span<v1::Event> events, uint64_t position) {
    if (!begun.HasBeenNotified()) {
      begun.Notify();
      go_on.WaitForNotification();
    }
    return kept.Take(events, position);
  });
  queue.Append(Events({1}));
  begun.WaitForNotification();
  queue.Append(Events({2}));
  const uint64_t end = queue.Append(Events({3, 4}));
  go_on.Notify();
  EXPECT_TRUE(queue.WaitDurable(end).ok());
  queue.Stop();
  EXPECT_EQ(kept.lots, (std::vector<size_t>{1, 3}));
}

TEST(CommitQueueTest, ADriverMayKeepALotInParts) {
  Kept kept{.most = 2};
  CommitQueue queue;
  queue.Start(0, Into(kept));
  EXPECT_TRUE(queue.WaitDurable(queue.Append(Events({1, 2, 3, 4, 5}))).ok());
  queue.Stop();
  EXPECT_EQ(kept.times, (std::vector<int64_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(kept.lots.size(), 3u);
}

TEST(CommitQueueTest, AfterAFailureWhatWasDurableStaysSoAndNothingElseIs) {
  size_t calls = 0;
  CommitQueue queue;
  queue.Start(0, [&](std::span<v1::Event> events, uint64_t) -> absl::StatusOr<size_t> {
    if (++calls == 2) return absl::ResourceExhaustedError("disk full");
    return events.size();
  });
  const uint64_t first = queue.Append(Events({1}));
  EXPECT_TRUE(queue.WaitDurable(first).ok());
  const uint64_t second = queue.Append(Events({2}));
  EXPECT_EQ(queue.WaitDurable(second).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_FALSE(queue.WaitDurable(queue.Append(Events({3}))).ok());
  EXPECT_TRUE(queue.WaitDurable(first).ok());
  queue.Stop();
  EXPECT_EQ(calls, 2u);
}

TEST(CommitQueueTest, WhatWasAppendedIsCommittedBeforeItStops) {
  Kept kept;
  {
    CommitQueue queue;
    queue.Start(0, Into(kept));
    queue.Append(Events({1, 2, 3}));
  }
  EXPECT_EQ(kept.times.size(), 3u);
}

TEST(CommitQueueTest, ManyThreadsWaitEachForItsOwn) {
  Kept kept;
  CommitQueue queue;
  queue.Start(0, Into(kept));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&queue] {
      for (int i = 0; i < 100; ++i) {
        const uint64_t end = queue.Append(Events({i}));
        EXPECT_TRUE(queue.WaitDurable(end).ok());
        EXPECT_GE(queue.durable(), end);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  queue.Stop();
  EXPECT_EQ(kept.times.size(), 400u);
}

}  // namespace
}  // namespace headrace
