#include "common/sync/periodic_task.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"

namespace headrace {
namespace {

TEST(PeriodicTaskTest, RunsAgainAndAgain) {
  std::atomic<int> runs = 0;
  absl::Notification third;
  PeriodicTask task("tick", absl::Milliseconds(1), [&] {
    if (++runs == 3) third.Notify();
  });
  EXPECT_TRUE(third.WaitForNotificationWithTimeout(absl::Seconds(30)));
}

TEST(PeriodicTaskTest, TriggerNowDoesNotWaitForThePeriod) {
  absl::Notification ran;
  PeriodicTask task("tick", absl::Hours(1), [&] { ran.Notify(); });
  EXPECT_FALSE(ran.HasBeenNotified());
  task.TriggerNow();
  EXPECT_TRUE(ran.WaitForNotificationWithTimeout(absl::Seconds(30)));
}

TEST(PeriodicTaskTest, ATriggerDuringARunMakesOneMore) {
  std::atomic<int> runs = 0;
  absl::Notification first, go, second;
  PeriodicTask task("tick", absl::Hours(1), [&] {
    if (++runs == 1) {
      first.Notify();
      go.WaitForNotification();
    } else {
      second.Notify();  // a third run would abort here: a Notification is notified once
    }
  });
  task.TriggerNow();
  ASSERT_TRUE(first.WaitForNotificationWithTimeout(absl::Seconds(30)));
  for (int i = 0; i < 3; ++i) task.TriggerNow();
  go.Notify();
  EXPECT_TRUE(second.WaitForNotificationWithTimeout(absl::Seconds(30)));
  task.Stop();
  EXPECT_EQ(runs, 2);
}

TEST(PeriodicTaskTest, TriggersWithinAGapMakeOneRunAtItsEnd) {
  constexpr absl::Duration kGap = absl::Milliseconds(50);
  std::atomic<int> runs = 0;
  absl::Time first, second;
  absl::Notification begun, done;
  PeriodicTask task("tick", absl::Hours(1), [&] {
    if (++runs == 1) {
      first = absl::Now();
      begun.Notify();
    } else {
      second = absl::Now();
      done.Notify();  // a third run would abort here
    }
  });
  task.TriggerNow();
  ASSERT_TRUE(begun.WaitForNotificationWithTimeout(absl::Seconds(30)));
  for (int i = 0; i < 3; ++i) task.TriggerAfter(kGap);
  ASSERT_TRUE(done.WaitForNotificationWithTimeout(absl::Seconds(30)));
  task.Stop();
  EXPECT_GE(second - first, kGap - absl::Milliseconds(1));
  EXPECT_EQ(runs, 2);
}

TEST(PeriodicTaskTest, AShorterPeriodCountsAtOnceAndATriggerStaysOne) {
  std::atomic<int> runs = 0;
  absl::Notification first, third;
  PeriodicTask task("tick", absl::Hours(1), [&] {
    if (++runs == 1) first.Notify();
    if (runs == 3) third.Notify();
  });
  task.TriggerNow();
  task.SetPeriod(absl::Hours(2));
  ASSERT_TRUE(first.WaitForNotificationWithTimeout(absl::Seconds(30)));
  task.SetPeriod(absl::Milliseconds(1));
  EXPECT_TRUE(third.WaitForNotificationWithTimeout(absl::Seconds(30)));
}

TEST(PeriodicTaskTest, StopDoesNotWaitForThePeriod) {
  const absl::Time start = absl::Now();
  {
    PeriodicTask task("tick", absl::Hours(1), [] {});
  }
  EXPECT_LT(absl::Now() - start, absl::Seconds(30));
}

TEST(PeriodicTaskTest, ARunThatThrowsIsNotTheLast) {
  std::atomic<int> runs = 0;
  absl::Notification second;
  PeriodicTask task("tick", absl::Milliseconds(1), [&] {
    if (++runs == 1) throw std::runtime_error("boom");
    if (runs == 2) second.Notify();
  });
  EXPECT_TRUE(second.WaitForNotificationWithTimeout(absl::Seconds(30)));
}

}  // namespace
}  // namespace headrace
