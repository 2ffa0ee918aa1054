#include "common/sync/executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"

namespace headrace {
namespace {

absl::Time Soon() { return absl::Now() + absl::Seconds(30); }

TEST(ExecutorTest, EveryTaskRunsOnce) {
  std::atomic<int> runs = 0;
  Executor executor({.name = "test", .threads = 3, .max_queued = 1000});
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(executor.TrySubmit([&runs] { ++runs; }));
  }
  ASSERT_TRUE(executor.WaitIdle(Soon()));
  EXPECT_EQ(runs, 1000);
}

TEST(ExecutorTest, AFullQueueRefusesAndLeavesTheTaskAlone) {
  absl::Notification started, go;
  Executor executor({.name = "test", .threads = 1, .max_queued = 1});
  ASSERT_TRUE(executor.TrySubmit([&] {
    started.Notify();
    go.WaitForNotification();
  }));
  started.WaitForNotification();
  ASSERT_TRUE(executor.TrySubmit([] {}));
  EXPECT_EQ(executor.queued(), 1u);
  std::atomic<bool> ran = false;
  Executor::Task task = [&ran] { ran = true; };
  EXPECT_FALSE(executor.TrySubmit(std::move(task)));
  task();  // still whole
  EXPECT_TRUE(ran);
  go.Notify();
  EXPECT_TRUE(executor.WaitIdle(Soon()));
}

TEST(ExecutorTest, StopDropsTheQueuedTasksAndRefusesNewOnes) {
  absl::Notification started, go;
  std::atomic<int> runs = 0;
  auto kept = std::make_shared<int>(1);
  {
    Executor executor({.name = "test", .threads = 1, .max_queued = 10});
    ASSERT_TRUE(executor.TrySubmit([&] {
      started.Notify();
      go.WaitForNotification();
      ++runs;
    }));
    started.WaitForNotification();
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(executor.TrySubmit([&runs, kept] { runs += 100; }));
    executor.Stop();
    EXPECT_EQ(kept.use_count(), 1);
    EXPECT_FALSE(executor.TrySubmit([] {}));
    EXPECT_FALSE(executor.WaitIdle(absl::Now()));
    go.Notify();
  }
  EXPECT_EQ(runs, 1);
}

TEST(ExecutorTest, ATaskThatThrowsDoesNotEndItsThread) {
  testing::internal::CaptureStderr();
  std::atomic<bool> ran = false;
  {
    Executor executor({.name = "fragile", .threads = 1, .max_queued = 10});
    ASSERT_TRUE(executor.TrySubmit([] { throw std::runtime_error("boom"); }));
    ASSERT_TRUE(executor.TrySubmit([] { throw 7; }));
    ASSERT_TRUE(executor.TrySubmit([&ran] { ran = true; }));
    ASSERT_TRUE(executor.WaitIdle(Soon()));
  }
  EXPECT_TRUE(ran);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::HasSubstr("a task of fragile threw: boom"));
}

TEST(ExecutorTest, ThreadsCarryTheirNames) {
  std::string name(16, '\0');
  Executor executor({.name = "decode", .threads = 1, .max_queued = 1});
  ASSERT_TRUE(executor.TrySubmit(
      [&name] { pthread_getname_np(pthread_self(), name.data(), name.size()); }));
  ASSERT_TRUE(executor.WaitIdle(Soon()));
  EXPECT_STREQ(name.c_str(), "decode-0");
}

}  // namespace
}  // namespace headrace
