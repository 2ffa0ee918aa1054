#include "pipeline/engine/source_stage.h"

#include <atomic>
#include <functional>
#include <thread>

#include "common/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pipeline/engine/testing/engine_rig.h"

namespace headrace {
namespace {

using testing_engine::CountingFormat;
using testing_engine::Gate;
using testing_engine::MakeLease;

constexpr uint64_t kBlockBytes = 20'000;

// Asks again and again, for ten seconds at most.
void AwaitTrue(const std::function<bool()>& condition) {
  const absl::Time deadline = absl::Now() + absl::Seconds(10);
  while (!condition()) {
    ASSERT_LT(absl::Now(), deadline);
    std::this_thread::yield();
  }
}

class SourceStageTest : public ::testing::Test {
 protected:
  std::shared_ptr<SourceStage> Make(CountingFormat::Options format, uint64_t read_bytes = 10 << 20,
                                    IoPool* io = nullptr) {
    format.pad_bytes = 1000;
    SourceStage::Deps deps;
    deps.io = io != nullptr ? io : &io_;
    deps.clock = &clock_;
    deps.cpu = &RealCpuMeter();
    deps.files = NewLocalFileSystem();
    deps.format = std::make_shared<CountingFormat>(std::move(format));
    deps.schema = std::make_shared<const Schema>(CountingFormat::RecordSchema());
    SourceStage::Options options;
    options.read_bytes = read_bytes;
    options.open_splits = 3;
    options.max_leases_ahead = 64;
    options.max_block_bytes = kBlockBytes;
    options.max_record_bytes = 1 << 20;
    options.target_block_nanos = 1'000'000;
    options.max_block_rows = 1024;
    return std::make_shared<SourceStage>(std::move(deps), options, SourceStage::Callbacks{});
  }

  // Pops until the first split of the line has ended; its lease number and records.
  std::pair<uint64_t, uint64_t> PopSplit(SourceStage& stage) {
    std::pair<uint64_t, uint64_t> seen{0, 0};
    AwaitTrue([&] {
      auto item = stage.Pop();
      if (!item) return false;
      seen.first = item->lease;
      if (item->block) seen.second += item->block->rows();
      return item->end.has_value();
    });
    return seen;
  }

  FakeClock clock_;
  IoPool io_{2};
};

// A format whose reads wait until the gate is open.
CountingFormat::Options ReadsThrough(Gate& gate) {
  CountingFormat::Options format;
  format.before_read = [&gate](uint64_t) {
    gate.Wait();
    return absl::OkStatus();
  };
  return format;
}

TEST_F(SourceStageTest, SplitsLeaveInLeaseOrderThoughTheFirstIsReadLast) {
  Gate gate;
  CountingFormat::Options format;
  format.before_read = [&](uint64_t split) {
    if (split == 1) gate.Wait();
    return absl::OkStatus();
  };
  auto stage = Make(std::move(format));
  for (uint64_t i = 1; i <= 3; ++i) stage->AddLease(MakeLease(i, i, 2 * i), {});
  // The second and third are read while the first one blocks.
  AwaitTrue([&] { return stage->tally().rows_out == 10; });
  EXPECT_FALSE(stage->HasItem());
  gate.Open();
  for (uint64_t i = 1; i <= 3; ++i)
    EXPECT_EQ(PopSplit(*stage), (std::pair<uint64_t, uint64_t>{i, 2 * i}));
  EXPECT_TRUE(stage->empty());
  EXPECT_EQ(stage->bytes(), 0u);
}

TEST_F(SourceStageTest, ReadsOnlyALittleAheadOfAConsumerThatDoesNotKeepUp) {
  auto stage = Make({});
  stage->AddLease(MakeLease(1, 1, 100'000), {});
  stage->AddLease(MakeLease(2, 2, 100'000), {});
  const uint64_t window = stage->window_bytes();
  EXPECT_EQ(window, 4 * kBlockBytes);
  AwaitTrue([&] { return stage->bytes() >= window; });
  for (int i = 0; i < 500; ++i) AwaitTrue([&] { return stage->Pop().has_value(); });
  EXPECT_EQ(stage->window_bytes(), window);
  EXPECT_LT(stage->peak_bytes(), window + 6 * kBlockBytes);
  stage->Stop();
}

TEST_F(SourceStageTest, WhoeverWaitsForTheThreadGetsItBetweenTwoBlocks) {
  IoPool single(1);
  std::atomic<bool> other_ran = false;
  std::atomic<int> reads = 0;
  std::atomic<int> reads_before_other = 0;
  CountingFormat::Options format;
  format.before_read = [&](uint64_t) {
    if (++reads == 2) {
      single.Submit([&] {
        reads_before_other = reads.load();
        other_ran = true;
      });
    }
    return absl::OkStatus();
  };
  auto stage = Make(std::move(format), 10 << 20, &single);
  stage->AddLease(MakeLease(1, 1, 60), {});  // three blocks, less than the window
  EXPECT_EQ(PopSplit(*stage).second, 60u);
  AwaitTrue([&] { return other_ran.load(); });
  EXPECT_EQ(reads_before_other, 2);
  stage->Stop();
}

TEST_F(SourceStageTest, SlowReadsThatLeaveTheConsumerDryMakeItReadFurtherAhead) {
  // Each read waits until all that was read is gone. Shared: the last read ends after this test's
  // body.
  auto hungry = std::make_shared<std::atomic<bool>>(true);
  CountingFormat::Options format;
  format.before_read = [this, hungry](uint64_t) {
    AwaitTrue([&] { return hungry->load(); });
    *hungry = false;
    clock_.Advance(absl::Milliseconds(20));
    return absl::OkStatus();
  };
  auto stage = Make(std::move(format));
  stage->AddLease(MakeLease(1, 1, 1'000'000), {});
  while (stage->window_bytes() < 16 * kBlockBytes) {
    AwaitTrue([&] { return stage->Pop().has_value(); });
    *hungry = true;
  }
  stage->Stop();
  *hungry = true;
}

TEST_F(SourceStageTest, TheBoundIsNeverPassedByMoreThanOneBlockALane) {
  auto stage = Make({}, 3 * kBlockBytes);
  for (uint64_t i = 1; i <= 6; ++i) stage->AddLease(MakeLease(i, i, 500), {});
  for (uint64_t i = 1; i <= 6; ++i) EXPECT_EQ(PopSplit(*stage).first, i);
  EXPECT_LE(stage->peak_bytes(), 3 * kBlockBytes + 3 * 2 * kBlockBytes);
}

TEST_F(SourceStageTest, WantsMoreLeasesTheFasterSplitsEnd) {
  auto stage = Make({});
  EXPECT_EQ(stage->LeasesWanted(), 2u);
  uint64_t number = 0;
  const auto run_splits = [&](int count, absl::Duration each) {
    for (int i = 0; i < count; ++i) {
      stage->AddLease(MakeLease(number + 1, number + 1, 5), {});
      ++number;
      PopSplit(*stage);
      clock_.Advance(each);
    }
  };
  run_splits(40, absl::Seconds(5));
  EXPECT_EQ(stage->LeasesWanted(), 2u);
  run_splits(40, absl::Milliseconds(100));
  EXPECT_NEAR(static_cast<double>(stage->LeasesWanted()), 11, 1);
  run_splits(40, absl::Microseconds(10));
  EXPECT_EQ(stage->LeasesWanted(), 64u);
}

TEST_F(SourceStageTest, WhatIsReadAndNotYetWorkedOnIsHeld) {
  auto stage = Make({});
  for (uint64_t i = 1; i <= 2; ++i) stage->AddLease(MakeLease(i, i, 5), {});
  AwaitTrue([&] { return stage->tally().rows_out == 10; });
  EXPECT_EQ(stage->LeasesWanted(), 0u);
  PopSplit(*stage);
  EXPECT_GT(stage->LeasesWanted(), 0u);
}

TEST_F(SourceStageTest, WhoIsSlowHoldsOneSplitUntilItsEndIsNear) {
  auto stage = Make({});
  for (uint64_t i = 1; i <= 3; ++i) {
    stage->AddLease(MakeLease(i, i, 5), {});
    AwaitTrue([&] { return stage->HasItem(); });
    clock_.Advance(absl::Seconds(10));
    PopSplit(*stage);
  }
  stage->AddLease(MakeLease(4, 4, 5), {});
  AwaitTrue([&] { return stage->HasItem(); });
  EXPECT_EQ(stage->LeasesWanted(), 0u);
  clock_.Advance(absl::Seconds(8));
  EXPECT_EQ(stage->LeasesWanted(), 0u);
  clock_.Advance(absl::Milliseconds(1500));
  EXPECT_EQ(stage->LeasesWanted(), 1u);
}

TEST_F(SourceStageTest, WhoWaitsForItsFilesReadsMoreOfThemAtOnce) {
  Gate gate;
  auto stage = Make(ReadsThrough(gate));
  stage->AddLease(MakeLease(1, 1, 5), {});
  EXPECT_EQ(stage->LeasesWanted(), 1u);
  clock_.Advance(absl::Milliseconds(101));
  EXPECT_EQ(stage->LeasesWanted(), 2u);  // three at once
  gate.Open();
  PopSplit(*stage);
}

TEST_F(SourceStageTest, WhatIsWaitedForIsNotGivenUp) {
  Gate gate;
  auto stage = Make(ReadsThrough(gate));
  v1::Lease piece = MakeLease(1, 1, 10);
  piece.set_first_record(8);
  stage->AddLease(piece, {});
  gate.AwaitArrivals(1);
  clock_.Advance(absl::Minutes(1));
  EXPECT_TRUE(stage->Shed(2).empty());
  stage->AddLease(MakeLease(2, 2, 10), {});
  const auto cuts = stage->Shed(2);
  ASSERT_EQ(cuts.size(), 1u);
  EXPECT_EQ(cuts[0].lease, 2u);
  EXPECT_EQ(cuts[0].at, std::vector<uint64_t>{0});
  gate.Open();
}

TEST_F(SourceStageTest, TheLastRecordIsNotGivenUp) {
  auto stage = Make(CountingFormat::Options());
  stage->AddLease(MakeLease(1, 1, 1), {});
  AwaitTrue([&] { return stage->HasItem(); });
  clock_.Advance(absl::Minutes(1));
  EXPECT_TRUE(stage->Shed(3).empty());
  PopSplit(*stage);
}

TEST_F(SourceStageTest, StopReturnsWhileAReadBlocksAndItsRowsAreDropped) {
  Gate gate;
  auto stage = Make(ReadsThrough(gate));
  stage->AddLease(MakeLease(1, 1, 10), {});
  gate.AwaitArrivals(1);
  stage->Stop();
  gate.Open();
  const std::weak_ptr<SourceStage> gone = stage;
  stage.reset();
  AwaitTrue([&] { return gone.expired(); });  // the read's job was the last to hold it
}

}  // namespace
}  // namespace headrace
