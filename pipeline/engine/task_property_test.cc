// The promise of the books, over random pipelines, sources and limits: every record of a lease that
// was read to its end is in exactly one of output, settled runs and skip set.
#include <random>

#include "common/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pipeline/engine/task.h"
#include "pipeline/engine/testing/engine_rig.h"

namespace headrace {
namespace {

using testing_engine::Census;
using testing_engine::CountingFormat;
using testing_engine::Element;
using testing_engine::MakeLease;
using testing_engine::MakeStep;
using testing_engine::Outcome;
using testing_engine::Rig;

class Dice {
 public:
  explicit Dice(uint32_t seed) : random_(seed) {}
  uint64_t Below(uint64_t n) { return random_() % n; }
  int64_t Between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(Below(static_cast<uint64_t>(high - low + 1)));
  }
  bool Chance(uint64_t percent) { return Below(100) < percent; }

 private:
  std::mt19937_64 random_;
};

struct Plan {
  std::vector<v1::Step> steps;
  bool cuts = false;
  bool batches = false;
};

Plan RandomPlan(Dice& dice) {
  Plan plan;
  const int64_t count = dice.Between(0, 6);
  for (int64_t i = 0; i < count; ++i) {
    switch (dice.Below(8)) {
      case 0:
        plan.steps.push_back(MakeStep("fail_some", {{"every", dice.Between(2, 9)}}));
        break;
      case 1:
        plan.steps.push_back(MakeStep("drop_some", {{"every", dice.Between(1, 9)}}));
        break;
      case 2:
        plan.steps.push_back(MakeStep("shuffle", {{"buffer", dice.Between(1, 300)}}));
        break;
      case 3:
        if (plan.cuts || plan.batches) break;
        plan.cuts = true;
        plan.steps.push_back(MakeStep("cut", {{"every", dice.Between(1, 5)}}));
        break;
      case 4:
        plan.steps.push_back(MakeStep("hook"));
        break;
      case 5:
        plan.steps.push_back(MakeStep("stateful_hook"));
        break;
      case 6:
        if (plan.batches) break;
        plan.batches = true;
        plan.steps.push_back(MakeStep("batch", {{"size", dice.Between(1, 40)}}));
        plan.steps.back().mutable_params()->add_entries()->set_name("drop_remainder");
        *plan.steps.back().mutable_params()->mutable_entries(1)->mutable_value() =
            ToValue(dice.Chance(50));
        break;
      case 7:
        plan.steps.push_back(MakeStep("elsewhere", {{"every", dice.Between(2, 9)}}));
        break;
    }
  }
  return plan;
}

TaskOptions RandomLimits(Dice& dice) {
  TaskOptions options;
  options.on_error = v1::ON_ERROR_SKIP;
  const uint64_t choices[] = {1, 300, 20'000, 32 << 20};
  options.read_bytes = choices[dice.Below(4)];
  options.stage_bytes = choices[dice.Below(4)];
  options.output.max_bytes = choices[dice.Below(4)];
  options.max_block_rows = dice.Chance(30) ? 3 : 1024;
  options.open_splits = 1 + dice.Below(4);
  if (dice.Chance(30)) {
    options.shards = 3;
    options.shard = dice.Below(3);
    options.shard_by_record = true;
  }
  return options;
}

// What was delivered before: random runs, as whole records.
std::vector<bool> RandomSkips(Dice& dice, uint64_t records, v1::Lease& lease) {
  std::vector<bool> skipped(records);
  if (records == 0 || dice.Chance(50)) return skipped;
  for (int i = 0; i < 5; ++i) {
    v1::Run& run = *lease.add_skip();
    run.set_first(dice.Below(records));
    run.set_count(std::min<uint64_t>(dice.Below(20), records - run.first()));
    for (uint64_t r = run.first(); r < run.first() + run.count(); ++r) skipped[r] = true;
  }
  return skipped;
}

// Elements of each record among output and settled, as (parts seen, of how many).
void ExpectExactlyOnce(const Outcome& out, uint64_t lease, uint64_t split,
                       const std::vector<bool>& expected) {
  const v1::SplitReport end = out.EndOf(lease);
  EXPECT_TRUE(end.read_to_end());
  EXPECT_EQ(end.records(), expected.size());
  std::map<uint64_t, std::map<uint32_t, int>> seen;  // record -> part -> count
  std::map<uint64_t, uint32_t> parts;
  const auto add = [&](const Run& run) {
    if (run.split != split) return;
    for (uint64_t i = run.first; i < run.first + run.count; ++i) {
      ++seen[i][run.part];
      const auto [at, fresh] = parts.emplace(i, run.parts);
      EXPECT_EQ(at->second, run.parts) << "record " << i;
    }
  };
  for (const Provenance& provenance : out.provenance) {
    for (const Run& run : provenance) add(run);
  }
  for (const v1::SplitReport& report : out.reports) {
    for (const v1::Run& run : report.settled()) {
      add({run.split(), run.first(), run.count(), run.part(), std::max(run.parts(), 1u),
           run.pass()});
    }
  }
  for (uint64_t i = 0; i < expected.size(); ++i) {
    if (!expected[i]) {
      EXPECT_FALSE(seen.contains(i)) << "split " << split << " record " << i << " was not to come";
      continue;
    }
    ASSERT_EQ(seen[i].size(), parts[i]) << "split " << split << " record " << i;
    for (const auto& [part, count] : seen[i])
      EXPECT_EQ(count, 1) << "split " << split << " record " << i;
  }
}

class TaskPropertyTest : public ::testing::TestWithParam<uint32_t> {};

TEST_P(TaskPropertyTest, EveryRecordEndsExactlyOnce) {
  Dice dice(GetParam());
  for (int round = 0; round < 12; ++round) {
    SCOPED_TRACE(fmt::format("seed {} round {}", GetParam(), round));
    Plan plan = RandomPlan(dice);
    const TaskOptions options = RandomLimits(dice);
    CountingFormat::Options format;
    const uint64_t damage = dice.Between(0, 20);
    if (damage > 0) {
      format.damaged = [=](uint64_t split, uint64_t index) {
        return (split * 7 + index) % (damage + 3) == 0;
      };
      format.blank = [=](uint64_t split, uint64_t index) {
        return (split + index * 5) % (damage + 4) == 1;
      };
    }
    Rig rig({.threads = static_cast<size_t>(1 + dice.Below(4)),
             .steps = plan.steps,
             .format = format,
             .task = options});
    std::vector<std::vector<bool>> expected;
    const uint64_t leases = 1 + dice.Below(6);
    Outcome out;
    for (uint64_t lease = 1; lease <= leases; ++lease) {
      const uint64_t records = dice.Chance(15) ? 0 : dice.Below(400);
      v1::Lease message = MakeLease(lease, lease, records);
      std::vector<bool> mine = RandomSkips(dice, records, message);
      mine.flip();
      for (uint64_t i = 0; i < records && options.shard_by_record; ++i) {
        if ((lease + i) % options.shards != options.shard) mine[i] = false;
      }
      expected.push_back(std::move(mine));
      ASSERT_TRUE(rig.task().AddLease(message).ok());
      if (dice.Chance(25)) rig.task().NoMoreLeases();
      if (dice.Chance(25)) rig.CollectUntil([] { return true; }, out);
    }
    rig.task().NoMoreLeases();
    rig.CollectUntil([&] { return rig.task().Idle() || !rig.task().status().ok(); }, out);
    ASSERT_TRUE(rig.task().status().ok()) << rig.task().status();
    for (uint64_t lease = 1; lease <= leases; ++lease)
      ExpectExactlyOnce(out, lease, lease, expected[lease - 1]);
    if (HasFailure()) return;
  }
}

// The order of rows and batches is a function of the leases alone: not of threads, limits or block
// sizes.
TEST_P(TaskPropertyTest, TheStreamIsAFunctionOfTheLeases) {
  Dice dice(GetParam() + 1000);
  for (int round = 0; round < 6; ++round) {
    SCOPED_TRACE(fmt::format("seed {} round {}", GetParam(), round));
    const Plan plan = RandomPlan(dice);
    std::vector<uint64_t> records;
    for (uint64_t i = dice.Below(5); i-- > 0;) records.push_back(dice.Below(500));
    std::vector<std::vector<int64_t>> first;
    for (int run = 0; run < 3; ++run) {
      TaskOptions options = RandomLimits(dice);
      options.shard_by_record = false;
      options.shard = 0;
      options.shards = 1;
      Rig rig({.threads = run == 0 ? 1u : 4u, .steps = plan.steps, .task = options});
      const Outcome out = rig.RunSplits(records);
      ASSERT_TRUE(rig.task().status().ok()) << rig.task().status();
      if (run == 0) first = out.rows;
      EXPECT_EQ(out.rows, first);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, TaskPropertyTest, ::testing::Range(0u, 12u));

}  // namespace
}  // namespace headrace
