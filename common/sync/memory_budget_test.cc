#include "common/sync/memory_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "common/sync/thread.h"

namespace headrace {
namespace {

absl::Time Soon() { return absl::Now() + absl::Seconds(30); }

TEST(MemoryBudgetTest, GrantsUpToTheLimitAndTakesBack) {
  MemoryBudget budget("test memory", 100);
  std::optional<Reservation> a = budget.TryReserve(60);
  ASSERT_TRUE(a.has_value());
  EXPECT_FALSE(budget.TryReserve(41).has_value());
  std::optional<Reservation> b = budget.TryReserve(40);
  ASSERT_TRUE(b.has_value());
  EXPECT_EQ(budget.used(), 100);
  a->Release();
  EXPECT_EQ(budget.used(), 40);
  a->Release();
  EXPECT_EQ(budget.used(), 40);
  b->ShrinkTo(10);
  EXPECT_EQ(b->bytes(), 10);
  b->ShrinkTo(50);
  EXPECT_EQ(budget.used(), 10);
  Reservation moved = std::move(*b);
  b.reset();
  EXPECT_EQ(budget.used(), 10);
  moved = Reservation();
  EXPECT_EQ(budget.used(), 0);
}

TEST(MemoryBudgetTest, AnOversizedRequestIsGrantedAlone) {
  MemoryBudget budget("test memory", 100);
  {
    std::optional<Reservation> small = budget.TryReserve(1);
    EXPECT_FALSE(budget.TryReserve(1000).has_value());
  }
  std::optional<Reservation> huge = budget.TryReserve(1000);
  ASSERT_TRUE(huge.has_value());
  EXPECT_FALSE(budget.TryReserve(1).has_value());
}

TEST(MemoryBudgetTest, AnOversizedRequestIsRefusedWithTheLimitsNameWhenToldSo) {
  MemoryBudget budget("worker memory (memory_limit)", 100, MemoryBudget::Oversize::kRefuse);
  const absl::Status status = budget.Reserve(101, Soon()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("worker memory (memory_limit)"));
  EXPECT_FALSE(budget.TryReserve(101).has_value());
}

TEST(MemoryBudgetTest, ReserveEndsAtItsDeadlineAndLeavesNoTrace) {
  MemoryBudget budget("test memory", 100);
  std::optional<Reservation> all = budget.TryReserve(100);
  EXPECT_EQ(budget.Reserve(1, absl::Now()).status().code(), absl::StatusCode::kDeadlineExceeded);
  all.reset();
  EXPECT_TRUE(budget.TryReserve(100).has_value());
}

TEST(MemoryBudgetTest, ReserveEndsWhenCancelled) {
  MemoryBudget budget("test memory", 100);
  std::optional<Reservation> all = budget.TryReserve(100);
  CancellationSource source;
  absl::Status status;
  Thread waiter("waiter", [&] { status = budget.Reserve(1, Soon(), source.token()).status(); });
  source.Cancel();
  waiter.Join();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
}

TEST(MemoryBudgetTest, ALargeRequestIsNotOvertakenBySmallOnes) {
  MemoryBudget budget("test memory", 100);
  std::optional<Reservation> held = budget.TryReserve(50);
  absl::Notification granted;
  Thread waiter("waiter", [&] {
    absl::StatusOr<Reservation> large = budget.Reserve(80, Soon());
    ASSERT_TRUE(large.ok());
    granted.Notify();
  });
  // Once the large one waits, a small one that would fit is told no.
  const absl::Time give_up = Soon();
  while (budget.TryReserve(1).has_value()) ASSERT_LT(absl::Now(), give_up);
  EXPECT_FALSE(granted.HasBeenNotified());
  held.reset();
  EXPECT_TRUE(granted.WaitForNotificationWithTimeout(absl::Seconds(30)));
}

TEST(MemoryBudgetTest, ManyThreadsNeverHoldMoreThanTheLimit) {
  MemoryBudget budget("test memory", 100);
  std::atomic<int64_t> held = 0, most = 0;
  {
    std::vector<Thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back("holder", [&, t] {
        for (int i = 0; i < 500; ++i) {
          const int64_t bytes = 1 + (i * 7 + t * 13) % 60;
          absl::StatusOr<Reservation> mine = budget.Reserve(bytes, Soon());
          ASSERT_TRUE(mine.ok());
          const int64_t now = held += bytes;
          int64_t seen = most;
          while (now > seen && !most.compare_exchange_weak(seen, now)) {
          }
          held -= bytes;
        }
      });
    }
  }
  EXPECT_LE(most, 100);
  EXPECT_EQ(budget.used(), 0);
}

}  // namespace
}  // namespace headrace
