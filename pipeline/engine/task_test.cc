#include "pipeline/engine/task.h"

#include <algorithm>
#include <numeric>

#include "common/status.h"
#include "element/frame.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pipeline/engine/testing/engine_rig.h"

namespace headrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing_engine::CountingFormat;
using testing_engine::MakeLease;
using testing_engine::MakeStep;
using testing_engine::Outcome;
using testing_engine::Rig;

std::vector<int64_t> Numbers(const std::vector<uint64_t>& records) {
  std::vector<int64_t> out;
  for (size_t split = 1; split <= records.size(); ++split) {
    for (uint64_t i = 0; i < records[split - 1]; ++i)
      out.push_back(static_cast<int64_t>(split * 1'000'000 + i));
  }
  return out;
}

TEST(TaskTest, RowsLeaveInTheOrderOfTheLeases) {
  for (const size_t threads : {1, 4}) {
    Rig rig({.threads = threads, .steps = {MakeStep("hook")}});
    const Outcome out = rig.RunSplits({100, 0, 1, 2500, 7});
    EXPECT_EQ(out.values(), Numbers({100, 0, 1, 2500, 7})) << threads;
    for (uint64_t lease : {1, 2, 3, 4, 5}) EXPECT_TRUE(out.EndOf(lease).read_to_end());
    EXPECT_EQ(out.EndOf(4).records(), 2500u);
    EXPECT_TRUE(rig.task().Idle());
    EXPECT_TRUE(rig.task().status().ok()) << rig.task().status();
  }
}

TEST(TaskTest, WithoutStepsRecordsPassAsTheyAre) {
  Rig rig({});
  EXPECT_EQ(rig.RunSplits({10, 20}).values(), Numbers({10, 20}));
}

TEST(TaskTest, OneThreadAndFourGiveTheSameBatches) {
  std::vector<std::vector<int64_t>> first;
  for (const size_t threads : {1, 4, 4, 1}) {
    Rig rig({.threads = threads,
             .steps = {MakeStep("drop_some", {{"every", 3}}), MakeStep("shuffle", {{"buffer", 50}}),
                       MakeStep("hook"), MakeStep("batch", {{"size", 16}})}});
    const Outcome out = rig.RunSplits({400, 300, 1, 299});
    EXPECT_GT(out.rows.size(), 30u);
    if (first.empty()) first = out.rows;
    EXPECT_EQ(out.rows, first) << threads;
  }
}

TEST(TaskTest, BlocksThatAreWorkedOnElsewhereKeepTheirOrder) {
  for (const size_t threads : {1, 3}) {
    Rig rig({.threads = threads,
             .steps = {MakeStep("elsewhere", {{"every", int64_t{1} << 60}}), MakeStep("hook"),
                       MakeStep("elsewhere", {{"every", int64_t{1} << 60}})},
             .task = {.max_block_rows = 16}});
    EXPECT_EQ(rig.RunSplits({100, 1, 0, 2500}).values(), Numbers({100, 1, 0, 2500})) << threads;
    EXPECT_GT(rig.task().Stats().steps(1).cpu_seconds(), 0);
  }
}

TEST(TaskTest, ATaskMayEndWhileBlocksAreElsewhere) {
  for (int round = 0; round < 20; ++round) {
    // No row fails: a task that failed has no output to wait for.
    Rig rig({.steps = {MakeStep("elsewhere", {{"every", int64_t{1} << 60}})},
             .task = {.max_block_rows = 2}});
    ASSERT_TRUE(rig.task().AddLease(MakeLease(1, 1, 500)).ok());
    Outcome out;
    rig.CollectUntil([&] { return !out.rows.empty(); }, out);
    rig.Stop();
  }
}

TEST(TaskTest, ABatchIsABlockOfItsOwn) {
  Rig rig({.steps = {MakeStep("batch", {{"size", 4}})}});
  const Outcome out = rig.RunSplits({10});
  EXPECT_EQ(out.largest_block_rows, 1u);
  EXPECT_THAT(out.rows, ElementsAre(ElementsAre(1000000, 1000001, 1000002, 1000003),
                                    ElementsAre(1000004, 1000005, 1000006, 1000007),
                                    ElementsAre(1000008, 1000009)));
}

// Heap memory that counts.
class CountingMemory final : public FrameMemory {
 public:
  std::shared_ptr<std::byte> Take(size_t bytes) override {
    sizes.push_back(bytes);
    return *AllocateFrameBytes(bytes);
  }
  std::vector<size_t> sizes;
};

TEST(TaskTest, TheLastBatchingStepMakesItsBatchesInTheMemoryOfFrames) {
  auto memory = std::make_shared<CountingMemory>();
  Rig rig({.threads = 1,
           .steps = {MakeStep("batch", {{"size", 8192}}), MakeStep("batch", {{"size", 2}}),
                     MakeStep("take", {{"count", 1}})},
           .memory = memory});
  const Outcome out = rig.RunSplits({16384});
  ASSERT_EQ(out.rows.size(), 1u);
  // One allocation, of the outer batch; not the inner ones.
  EXPECT_THAT(memory->sizes, ElementsAre(2 * 8192 * sizeof(int64_t)));
}

// --- Failures.

TEST(TaskTest, OnErrorFailNamesStepRecordAndFile) {
  Rig rig({.threads = 1, .steps = {MakeStep("hook"), MakeStep("fail_some", {{"every", 1}})}});
  ASSERT_TRUE(rig.task().AddLease(MakeLease(1, 3, 10)).ok());
  const absl::Status status = rig.AwaitFailure();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(
      std::string(status.message()),
      HasSubstr("step 2 'fail_some': split-3: record 0 of the split at 0 to 10: does not please"));
  EXPECT_EQ(rig.task().LeasesWanted(), 0u);
}

TEST(TaskTest, ADamagedRecordFailsTheTaskInTheReadersWords) {
  CountingFormat::Options format;
  format.damaged = [](uint64_t, uint64_t index) { return index == 5; };
  Rig rig({.format = format});
  ASSERT_TRUE(rig.task().AddLease(MakeLease(1, 3, 10)).ok());
  EXPECT_EQ(rig.AwaitFailure(), DataLoss("split-3: offset 40: record 5: damaged"));
}

TEST(TaskTest, OnErrorSkipCountsPerStepAndKeepsTheFirstSamples) {
  CountingFormat::Options format;
  format.damaged = [](uint64_t, uint64_t index) { return index % 50 == 0; };
  Rig rig({.steps = {MakeStep("hook"), MakeStep("fail_some", {{"every", 4}})},
           .format = format,
           .task = {.on_error = v1::ON_ERROR_SKIP}});
  const Outcome out = rig.RunSplits({500, 500});
  const v1::TaskStats stats = rig.task().Stats();
  EXPECT_EQ(stats.steps(0).failed(), 20u);
  EXPECT_GT(stats.steps(2).failed(), 150u);
  EXPECT_EQ(out.failed(), stats.steps(0).failed() + stats.steps(2).failed());
  EXPECT_EQ(out.values().size() + out.failed(), 1000u);
  EXPECT_EQ(out.settled().size(), out.failed());
  size_t samples = 0;
  for (const auto& report : out.reports) samples += static_cast<size_t>(report.samples_size());
  EXPECT_EQ(samples, 10u);
}

TEST(TaskTest, AFatalStepStopsTheTaskAndIsNamed) {
  Rig rig({.threads = 4,
           .steps = {MakeStep("fatal", {{"every", 700}}), MakeStep("batch", {{"size", 10}})}});
  ASSERT_TRUE(rig.task().AddLease(MakeLease(1, 1, 100'000)).ok());
  EXPECT_EQ(rig.AwaitFailure(), PermissionDenied("step 1 'fatal': not allowed"));
}

TEST(TaskTest, AFileThatCannotBeReadFailsTheTaskAndIsNamed) {
  CountingFormat::Options format;
  format.before_read = [](uint64_t split) {
    return split == 2 ? PermissionDenied("open: no") : absl::OkStatus();
  };
  Rig rig({.format = format});
  ASSERT_TRUE(rig.task().AddLease(MakeLease(1, 1, 10)).ok());
  ASSERT_TRUE(rig.task().AddLease(MakeLease(2, 2, 10)).ok());
  EXPECT_EQ(rig.AwaitFailure(), PermissionDenied("reading split 2 of split-2: open: no"));
}

TEST(TaskTest, AStepThatLosesARecordIsFoundOutAtTheFlush) {
  Rig rig({.steps = {MakeStep("lose", {{"every", 17}})}});
  rig.RunSplits({30});
  EXPECT_EQ(rig.task().status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(rig.task().status().message()),
              HasSubstr("a step lost records: of 30 records of split 1"));
}

TEST(TaskTest, AnElementOverTheLimitFailsNamingTheLimit) {
  CountingFormat::Options format;
  format.pad_bytes = 100;
  Rig rig({.steps = {MakeStep("batch", {{"size", 10}})},
           .format = format,
           .task = {.on_error = v1::ON_ERROR_SKIP, .max_element_bytes = 1000}});
  const Outcome out = rig.RunSplits({35});
  EXPECT_EQ(out.values().size(), 5u);  // the last, small batch
  EXPECT_EQ(out.failed(), 30u);
  EXPECT_THAT(out.EndOf(1).samples_size() + out.reports[0].samples_size(), ::testing::Ge(1));
  for (const auto& report : out.reports) {
    for (const auto& sample : report.samples())
      EXPECT_THAT(sample.message(), HasSubstr("max_element_bytes, 1000"));
  }
}

// --- The stream's end, and more after it.

TEST(TaskTest, NoMoreLeasesLetsGoOfWhatStepsHoldAndMoreMayFollow) {
  Rig rig({.steps = {MakeStep("shuffle", {{"buffer", 1000}}), MakeStep("batch", {{"size", 8}})}});
  Outcome out;
  for (uint64_t round = 1; round <= 3; ++round) {
    ASSERT_TRUE(rig.task().AddLease(MakeLease(round, round, 20)).ok());
    EXPECT_FALSE(rig.task().Idle());
    rig.task().NoMoreLeases();
    rig.task().NoMoreLeases();  // says nothing new
    rig.CollectUntil([&] { return rig.task().Idle(); }, out);
    EXPECT_EQ(out.values().size(), 20 * round);
    EXPECT_EQ(out.rows.back().size(), 4u);
  }
}

TEST(TaskTest, WithoutAFlushAPartialBatchStays) {
  Rig rig({.steps = {MakeStep("batch", {{"size", 8}})}});
  ASSERT_TRUE(rig.task().AddLease(MakeLease(1, 1, 20)).ok());
  Outcome out;
  rig.CollectUntil([&] { return out.rows.size() == 2; }, out);
  EXPECT_FALSE(rig.task().Idle());
  rig.task().NoMoreLeases();
  rig.CollectUntil([&] { return rig.task().Idle(); }, out);
  EXPECT_EQ(out.rows.size(), 3u);
}

TEST(TaskTest, ALeaseIsReportedReadToItsEndThoughItsRowsAreStillHeld) {
  Rig rig({.steps = {MakeStep("shuffle", {{"buffer", 100}})}});
  ASSERT_TRUE(rig.task().AddLease(MakeLease(4, 1, 20)).ok());
  Outcome out;
  // The last rows may still be on their way into the buffer when the lease is reported.
  rig.CollectUntil([&] { return !out.reports.empty() && rig.task().Stats().held_bytes() > 0; },
                   out);
  EXPECT_TRUE(out.reports[0].read_to_end());
  EXPECT_EQ(out.reports[0].records(), 20u);
  EXPECT_EQ(out.reports[0].lease(), 4u);
  EXPECT_TRUE(out.rows.empty());
  EXPECT_GT(rig.task().Stats().held_bytes(), 0u);
}

// --- Satisfied.

TEST(TaskTest, ASatisfiedTaskStopsReadingAndAbandonsWhatIsOpen) {
  Rig rig({.threads = 4,
           .steps = {MakeStep("drop_some", {{"every", 3}}), MakeStep("take", {{"count", 50}}),
                     MakeStep("batch", {{"size", 8}})}});
  ASSERT_TRUE(rig.task().AddLease(MakeLease(1, 1, 30)).ok());
  ASSERT_TRUE(rig.task().AddLease(MakeLease(2, 2, 1'000'000)).ok());
  ASSERT_TRUE(rig.task().AddLease(MakeLease(3, 3, 1'000'000)).ok());
  Outcome out;  // no flush is needed
  rig.CollectUntil([&] { return rig.task().Idle(); }, out);
  EXPECT_TRUE(rig.task().satisfied());
  EXPECT_EQ(out.values().size(), 50u);
  EXPECT_EQ(out.rows.back().size(), 2u);
  EXPECT_TRUE(out.EndOf(1).read_to_end());
  testing_engine::Census emitted;
  for (uint64_t lease : {2, 3}) {
    const v1::SplitReport report = out.EndOf(lease);
    EXPECT_TRUE(report.abandoned()) << lease;
    EXPECT_FALSE(report.read_to_end());
    for (const v1::Run& run : report.emitted()) testing_engine::AddRun(run, emitted);
  }
  for (const auto& [element, count] : out.output()) {
    if (std::get<0>(element) != 1) {
      EXPECT_EQ(emitted[element], count);
    }
  }
  EXPECT_LT(rig.task().Stats().steps(0).rows_out(), 500'000u);
  EXPECT_TRUE(rig.task().status().ok()) << rig.task().status();

  // Later leases are answered at once.
  EXPECT_GT(rig.task().LeasesWanted(), 0u);
  ASSERT_TRUE(rig.task().AddLease(MakeLease(4, 4, 10)).ok());
  rig.CollectUntil([&] { return rig.task().Idle(); }, out);
  EXPECT_TRUE(out.EndOf(4).abandoned());
  EXPECT_EQ(out.EndOf(4).emitted_size(), 0);
}

TEST(TaskTest, TakeZeroReadsNothing) {
  Rig rig({.steps = {MakeStep("take", {{"count", 0}})}});
  Outcome out;
  rig.CollectUntil([&] { return rig.task().satisfied(); }, out);
  ASSERT_TRUE(rig.task().AddLease(MakeLease(1, 1, 10)).ok());
  rig.CollectUntil([&] { return rig.task().Idle(); }, out);
  EXPECT_TRUE(out.rows.empty());
  EXPECT_TRUE(out.EndOf(1).abandoned());
}

TEST(TaskTest, ARecordHeldBeforeASatisfiedStepIsAbandonedWithItsLease) {
  // The shuffle holds records of lease 1, which was read to its end, when the take has had enough.
  Rig rig({.steps = {MakeStep("shuffle", {{"buffer", 10}}), MakeStep("take", {{"count", 20}})}});
  ASSERT_TRUE(rig.task().AddLease(MakeLease(1, 1, 30)).ok());
  ASSERT_TRUE(rig.task().AddLease(MakeLease(2, 2, 30)).ok());
  Outcome out;
  rig.CollectUntil([&] { return rig.task().Idle(); }, out);
  EXPECT_EQ(out.values().size(), 20u);
  EXPECT_TRUE(out.EndOf(1).abandoned());
}

// --- Identity.

TEST(TaskTest, SkipSetShardAndPassDecideWhatEnters) {
  Rig rig({.task = {.shard = 1, .shards = 2, .shard_by_record = true}});
  v1::Lease lease = MakeLease(1, 1, 20, 3);
  v1::Run& run = *lease.add_skip();
  run.set_first(4);
  run.set_count(3);
  ASSERT_TRUE(rig.task().AddLease(lease).ok());
  rig.task().NoMoreLeases();
  const Outcome out = rig.Collect();
  EXPECT_THAT(out.values(),
              ElementsAre(1000000, 1000002, 1000008, 1000010, 1000012, 1000014, 1000016, 1000018));
  EXPECT_EQ(out.provenance[0][0].pass, 3u);
  EXPECT_EQ(out.EndOf(1).records(), 20u);
  EXPECT_EQ(out.EndOf(1).pass(), 3u);
  EXPECT_THAT(out.settled(), IsEmpty());
}

TEST(TaskTest, RowsThatTheShardStepLeavesToOthersAreNeitherOutputNorSettled) {
  size_t rows = 0;
  for (const uint64_t shard : {0, 1, 2}) {
    Rig rig({.steps = {MakeStep("hook"), MakeStep("shard"), MakeStep("batch", {{"size", 7}})},
             .task = {.shard = shard, .shards = 3}});
    const Outcome out = rig.RunSplits({50, 51});
    EXPECT_TRUE(rig.task().status().ok()) << rig.task().status();
    EXPECT_TRUE(rig.task().Idle());
    EXPECT_THAT(out.settled(), IsEmpty());
    rows += out.values().size();
  }
  EXPECT_EQ(rows, 101u);
}

TEST(TaskTest, AReplayMakesTheSameStreamAndDropsWhatWasDelivered) {
  const std::vector<v1::Step> steps = {MakeStep("drop_some", {{"every", 4}}),
                                       MakeStep("take", {{"count", 40}}),
                                       MakeStep("batch", {{"size", 8}})};
  Rig first({.steps = steps});
  const Outcome before = first.RunSplits({30, 100});
  ASSERT_EQ(before.rows.size(), 5u);

  Rig again({.steps = steps, .task = {.replay = true}});
  for (uint64_t split : {1, 2}) {
    v1::Lease lease = MakeLease(split, split, split == 1 ? 30 : 100);
    for (size_t row : {0, 1, 3}) {  // these batches were delivered
      for (const auto& run : before.provenance[row]) {
        if (run.split != split) continue;
        v1::Run& skip = *lease.add_skip();
        skip.set_first(run.first);
        skip.set_count(run.count);
      }
    }
    ASSERT_TRUE(again.task().AddLease(lease).ok());
  }
  again.task().NoMoreLeases();
  const Outcome after = again.Collect();
  EXPECT_TRUE(again.task().status().ok()) << again.task().status();
  EXPECT_THAT(after.rows, ElementsAre(before.rows[2], before.rows[4]));
}

TEST(TaskTest, ASplitUnderWayIsRefusedUnderAnotherLease) {
  Rig rig({.steps = {MakeStep("batch", {{"size", 100}})}});
  ASSERT_TRUE(rig.task().AddLease(MakeLease(1, 1, 10)).ok());
  EXPECT_TRUE(rig.task().AddLease(MakeLease(1, 1, 10)).ok());  // doubled
  EXPECT_EQ(rig.task().AddLease(MakeLease(2, 1, 10)).code(), absl::StatusCode::kFailedPrecondition);
  rig.task().NoMoreLeases();
  EXPECT_EQ(rig.Collect().values().size(), 10u);
  ASSERT_TRUE(rig.task().AddLease(MakeLease(3, 1, 10)).ok());  // reassigned after it was done
  rig.task().NoMoreLeases();
  EXPECT_EQ(rig.Collect().values().size(), 10u);
}

}  // namespace
}  // namespace headrace
