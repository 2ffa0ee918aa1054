#include "pipeline/engine/task.h"

#include <algorithm>
#include <numeric>

#include "common/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pipeline/engine/testing/engine_rig.h"

namespace headrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
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

TEST(TaskTest, ABatchIsABlockOfItsOwn) {
  Rig rig({.steps = {MakeStep("batch", {{"size", 4}})}});
  const Outcome out = rig.RunSplits({10});
  EXPECT_EQ(out.largest_block_rows, 1u);
  EXPECT_THAT(out.rows, ElementsAre(ElementsAre(1000000, 1000001, 1000002, 1000003),
                                    ElementsAre(1000004, 1000005, 1000006, 1000007),
                                    ElementsAre(1000008, 1000009)));
}

}  // namespace
}  // namespace headrace
