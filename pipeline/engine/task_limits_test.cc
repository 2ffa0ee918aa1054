// Bounds of a task: bytes that wait, memory with a slow consumer, time to stop.
#include <thread>

#include "common/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pipeline/engine/task.h"
#include "pipeline/engine/testing/engine_rig.h"

namespace headrace {
namespace {

using testing_engine::CountingFormat;
using testing_engine::Gate;
using testing_engine::MakeLease;
using testing_engine::MakeStep;
using testing_engine::Outcome;
using testing_engine::Rig;

TaskOptions Limits(uint64_t bytes) {
  TaskOptions options;
  options.read_bytes = bytes;
  options.stage_bytes = bytes;
  options.output.max_bytes = bytes;
  return options;
}

// Asks again and again, for ten seconds at most.
void AwaitTrue(const std::function<bool()>& condition) {
  const absl::Time deadline = absl::Now() + absl::Seconds(10);
  while (!condition()) {
    ASSERT_LT(absl::Now(), deadline);
    std::this_thread::yield();
  }
}

std::vector<v1::Step> ManyStages() {
  return {MakeStep("hook"),
          MakeStep("shuffle", {{"buffer", 30}}),
          MakeStep("drop_some", {{"every", 5}}),
          MakeStep("stateful_hook"),
          MakeStep("stateful_hook"),
          MakeStep("hook"),
          MakeStep("batch", {{"size", 7}}),
          MakeStep("hook")};
}

TEST(TaskLimitsTest, AnyByteLimitsPassEverything) {
  for (const uint64_t bytes : {1, 2, 100, 5000}) {
    for (const size_t threads : {1, 3}) {
      CountingFormat::Options format;
      format.pad_bytes = 50;
      Rig rig({.threads = threads, .steps = ManyStages(), .format = format, .task = Limits(bytes)});
      const Outcome out = rig.RunSplits({100, 40, 0, 60});
      EXPECT_TRUE(rig.task().status().ok()) << rig.task().status();
      EXPECT_EQ(out.output().size() + out.settled().size(), 200u) << bytes;
    }
  }
}

TEST(TaskLimitsTest, ASlowConsumerBoundsWhatIsReadAndHeld) {
  CountingFormat::Options format;
  format.pad_bytes = 10'000;
  TaskOptions options = Limits(400'000);
  options.max_block_bytes = 50'000;
  Rig rig({.threads = 3,
           .steps = {MakeStep("hook"), MakeStep("batch", {{"size", 4}})},
           .format = format,
           .task = options});
  ASSERT_TRUE(rig.task().AddLease(MakeLease(1, 1, 5'000)).ok());  // 50 MB
  rig.task().NoMoreLeases();
  // Nobody takes anything, so it fills up; then each batch that is taken lets a little more in.
  OutputQueue& queue = rig.task().output();
  AwaitTrue([&] { return !queue.has_room(); });
  size_t batches = 0;
  AwaitTrue([&] {
    EXPECT_LE(rig.task().Stats().queued_bytes(), 3 * 400'000u + 10 * 60'000u);
    if (queue.TryPop()) ++batches;
    rig.task().TakeReports();
    return rig.task().Idle();
  });
  EXPECT_EQ(batches, 5'000u / 4);
  // Full, and at most one unit's output more.
  EXPECT_LE(queue.peak_bytes(), 400'000u + 60'000u);
}

TEST(TaskLimitsTest, StopsWhileAChainRuns) {
  Gate gate;
  Rig rig({.threads = 2,
           .steps = {MakeStep("hook"), MakeStep("batch", {{"size", 7}})},
           .hooks = {.run = [&](const Block&) { gate.Wait(); }}});
  ASSERT_TRUE(rig.task().AddLease(MakeLease(1, 1, 100'000)).ok());
  gate.AwaitArrivals(2);
  std::thread opener([&] { gate.Open(); });
  rig.Stop();  // returns once the two blocks are through
  opener.join();
}

TEST(TaskLimitsTest, StopsWhileAStatefulStepRuns) {
  Gate gate;
  Rig rig({.threads = 2, .steps = ManyStages(), .hooks = {.stateful_run = [&](const Block&) {
                                                  gate.Wait();
                                                }}});
  ASSERT_TRUE(rig.task().AddLease(MakeLease(1, 1, 100'000)).ok());
  gate.AwaitArrivals(1);
  std::thread opener([&] { gate.Open(); });
  rig.Stop();
  opener.join();
}

TEST(TaskLimitsTest, StopsWhileTheOutputIsFull) {
  Rig rig({.steps = ManyStages(), .task = Limits(1)});
  ASSERT_TRUE(rig.task().AddLease(MakeLease(1, 1, 100'000)).ok());
  AwaitTrue([&] { return !rig.task().output().has_room(); });
  rig.Stop();
}

TEST(TaskLimitsTest, StopsAtAnyMoment) {
  for (uint64_t round = 0; round < 150; ++round) {
    Rig rig({.threads = 4, .io_threads = 2, .steps = ManyStages(), .task = Limits(5000)});
    for (uint64_t i = 1; i <= 3; ++i) {
      ASSERT_TRUE(rig.task().AddLease(MakeLease(i, i, 10'000)).ok());
    }
    Outcome out;
    rig.CollectUntil([&] { return out.rows.size() >= round % 10; }, out);
    rig.Stop();
  }
}

TEST(TaskLimitsTest, StopDoesNotWaitForAReadThatBlocks) {
  Gate gate;
  CountingFormat::Options format;
  format.before_read = [&](uint64_t) {
    gate.Wait();
    return absl::OkStatus();
  };
  Rig rig({.format = format});
  ASSERT_TRUE(rig.task().AddLease(MakeLease(1, 1, 10)).ok());
  ASSERT_TRUE(rig.task().AddLease(MakeLease(2, 2, 10)).ok());
  gate.AwaitArrivals(2);
  rig.Stop();   // both reads still block
  gate.Open();  // they end after the task, and find that nobody wants their rows
}

TEST(TaskLimitsTest, AFailureWhileOthersRunLeavesNothingBehind) {
  Gate gate;
  Rig rig({.threads = 4,
           .steps = {MakeStep("hook"), MakeStep("fatal", {{"every", 3}}),
                     MakeStep("shuffle", {{"buffer", 5}})},
           .hooks = {.run = [&](const Block& block) {
             if (block.provenance(0)[0].first > 100) gate.Wait();
           }}});
  ASSERT_TRUE(rig.task().AddLease(MakeLease(1, 1, 100'000)).ok());
  EXPECT_EQ(rig.AwaitFailure().code(), absl::StatusCode::kPermissionDenied);
  gate.Open();
  rig.Stop();
}

TEST(TaskLimitsTest, AsksForLeasesAheadOfNeedAndForMoreWhenSplitsAreSmall) {
  Rig rig({});
  EXPECT_EQ(rig.task().LeasesWanted(), 2u);
  Outcome out;
  for (uint64_t i = 1; i <= 40; ++i) {
    ASSERT_TRUE(rig.task().AddLease(MakeLease(i, i, 3)).ok());
    rig.CollectUntil([&] { return out.values().size() == 3 * i; }, out);
  }
  // 40 splits came and went in far less than a second.
  EXPECT_GT(rig.task().LeasesWanted(), 10u);
  EXPECT_GT(rig.want_calls(), 0);
}

TEST(TaskLimitsTest, BlocksAreSmallWhereAStepWaitsInsteadOfComputing) {
  absl::Mutex mutex;
  size_t last = 0;
  class NoCpu final : public CpuMeter {
   public:
    uint64_t ThreadNanos() const override { return 0; }
  };
  NoCpu meter;
  Rig rig({.threads = 1,
           .steps = {MakeStep("hook")},
           .hooks = {.run =
                         [&](const Block& block) {
                           absl::SleepFor(absl::Milliseconds(2) * block.rows());
                           absl::MutexLock lock(&mutex);
                           if (block.rows() > 1) last = block.rows();
                         }},
           .cpu = &meter});
  EXPECT_EQ(rig.RunSplits({300}).values().size(), 300u);
  absl::MutexLock lock(&mutex);
  EXPECT_LE(last, 32u);  // 16 by measurement; at no CPU time it would be hundreds
}

TEST(TaskLimitsTest, BigBlocksOfAStatefulStepAreCutForTheNextChain) {
  // The shuffle lets go of everything at once; the chain behind it is slow, so it must get small
  // blocks.
  absl::Mutex mutex;
  size_t largest = 0;
  class SlowRows final : public CpuMeter {
   public:
    uint64_t ThreadNanos() const override { return Nanos(); }
    static uint64_t& Nanos() {
      thread_local uint64_t nanos = 0;
      return nanos;
    }
  };
  SlowRows meter;
  Rig rig({.threads = 2,
           .steps = {MakeStep("shuffle", {{"buffer", 2000}}), MakeStep("hook")},
           .hooks = {.run =
                         [&](const Block& block) {
                           SlowRows::Nanos() += block.rows() * 1'000'000;  // a millisecond a row
                           absl::MutexLock lock(&mutex);
                           largest = std::max(largest, block.rows());
                         }},
           .cpu = &meter});
  EXPECT_EQ(rig.RunSplits({2000}).values().size(), 2000u);
  absl::MutexLock lock(&mutex);
  EXPECT_LE(largest, 16u);  // twice the first guess; 2 by measurement
}

}  // namespace
}  // namespace headrace
