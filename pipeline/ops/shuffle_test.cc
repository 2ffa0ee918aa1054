#include <algorithm>
#include <cmath>
#include <numeric>

#include "pipeline/ops/op_harness.h"

namespace headrace::op_test {
namespace {

const Schema kInput({{"x", DType::kInt64, {}}});

// The order in which `rows` numbers leave, fed in blocks of `block` rows.
std::vector<int64_t> Order(const Params& params, int64_t rows, int64_t block, const RandomKey& key,
                           uint64_t first = 0) {
  auto step = Build("shuffle", params, kInput);
  EXPECT_TRUE(step.ok()) << step.status();
  Stage stage(*step, {.random = key});
  for (int64_t at = 0; at < rows; at += block) {
    std::vector<int64_t> values(static_cast<size_t>(std::min(block, rows - at)));
    std::iota(values.begin(), values.end(), at);
    EXPECT_TRUE(stage.Push(Numbers(step->input, values, first + static_cast<uint64_t>(at))).ok());
  }
  EXPECT_TRUE(stage.Finish().ok());
  EXPECT_EQ(stage.state->held_bytes(), 0u);
  std::vector<int64_t> order;
  for (const Block& b : stage.out) {
    EXPECT_LE(b.rows(), 64u);
    for (size_t row = 0; row < b.rows(); ++row) {  // a row keeps its own record
      EXPECT_EQ(b.provenance(row)[0].first,
                first + static_cast<uint64_t>(b.column(0)[row].as<int64_t>()[0]));
    }
    const std::vector<int64_t> values = Column<int64_t>(b, 0);
    order.insert(order.end(), values.begin(), values.end());
  }
  return order;
}

TEST(ShuffleTest, EveryRowLeavesOnceInAnOrderThatBlocksDoNotChange) {
  const Params params = Params().Set("buffer", 100);
  const RandomKey key{.seed = 3, .epoch = 1, .step = 2};
  std::vector<int64_t> order = Order(params, 1000, 64, key);
  EXPECT_EQ(order, Order(params, 1000, 1, key));
  EXPECT_EQ(order, Order(params, 1000, 1000, key));
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  std::sort(order.begin(), order.end());
  for (int64_t i = 0; i < 1000; ++i) ASSERT_EQ(order[static_cast<size_t>(i)], i);
}

TEST(ShuffleTest, SeedEpochStepAndStretchEachGiveAnotherOrder) {
  const Params params = Params().Set("buffer", 1000);
  const std::vector<int64_t> base = Order(params, 200, 64, {.seed = 1, .epoch = 1, .step = 1});
  EXPECT_NE(base, Order(params, 200, 64, {.seed = 2, .epoch = 1, .step = 1}));
  EXPECT_NE(base, Order(params, 200, 64, {.seed = 1, .epoch = 2, .step = 1}));
  EXPECT_NE(base, Order(params, 200, 64, {.seed = 1, .epoch = 1, .step = 2}));
  EXPECT_NE(base, Order(params, 200, 64, {.seed = 1, .epoch = 1, .step = 1}, 1000));
}

TEST(ShuffleTest, AStepsOwnSeedReplacesThePipelines) {
  const Params params = Params().Set("buffer", 1000).Set("seed", 9);
  EXPECT_EQ(Order(params, 100, 64, {.seed = 1, .epoch = 1, .step = 1}),
            Order(params, 100, 64, {.seed = 2, .epoch = 1, .step = 1}));
  EXPECT_NE(Order(params, 100, 64, {.seed = 1, .epoch = 1, .step = 1}),
            Order(params, 100, 64, {.seed = 1, .epoch = 2, .step = 1}));
}

TEST(ShuffleTest, ABufferOfTheWholeEpochIsAUniformPermutation) {
  // Chi-squared of (row, position) over 4,000 permutations of 6: 25 degrees of freedom, 99.9%
  // quantile 52.6.
  int counts[6][6] = {};
  for (uint64_t epoch = 0; epoch < 4000; ++epoch) {
    const std::vector<int64_t> order =
        Order(Params().Set("buffer", 6), 6, 6, {.seed = 5, .epoch = epoch, .step = 0});
    for (size_t i = 0; i < 6; ++i) ++counts[order[i]][i];
  }
  double chi = 0;
  for (const auto& row : counts) {
    for (int n : row) chi += std::pow(n - 4000 / 6.0, 2) / (4000 / 6.0);
  }
  EXPECT_LT(chi, 52.6);
}

TEST(ShuffleTest, RowsLeaveOnlyWhenTheBufferIsFull) {
  auto step = Build("shuffle", Params().Set("buffer", 10), kInput);
  ASSERT_TRUE(step.ok());
  EXPECT_TRUE(step->op->traits().random);
  Stage stage(*step);
  ASSERT_TRUE(stage.Push(Numbers(step->input, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9})).ok());
  EXPECT_TRUE(stage.out.empty());
  ASSERT_TRUE(stage.Push(Numbers(step->input, {10, 11, 12}, 10)).ok());
  ASSERT_EQ(stage.out.size(), 1u);
  EXPECT_EQ(stage.out[0].rows(), 3u);
  ASSERT_TRUE(stage.Finish().ok());
}

TEST(ShuffleTest, HeldBytesAreThoseOfTheRowsAlone) {
  auto step = Build("shuffle", Params().Set("buffer", 4), Schema({{"x", DType::kBytes, {}}}));
  ASSERT_TRUE(step.ok());
  Stage stage(*step);
  EXPECT_EQ(stage.state->held_bytes(), 0u);
  Block block = Rows(step->input, {{Text(std::string(1000, 'a'))}, {Text(std::string(5000, 'b'))}});
  block.arena().Allocate(1 << 20);  // what else the block kept alive
  ASSERT_TRUE(stage.Push(std::move(block)).ok());
  EXPECT_GT(stage.state->held_bytes(), 6000u);
  EXPECT_LT(stage.state->held_bytes(), 6800u);
  ASSERT_TRUE(stage.Finish().ok());
  EXPECT_EQ(stage.state->held_bytes(), 0u);
}

TEST(ShuffleTest, EndsDoNotWaitForTheBuffer) {
  auto step = Build("shuffle", Params().Set("buffer", 100), kInput);
  ASSERT_TRUE(step.ok());
  Stage stage(*step);
  Block block = Numbers(step->input, {0, 1});
  block.FailRecord({.first = 2, .count = 1}, DataLoss("x"));
  ASSERT_TRUE(stage.Push(std::move(block)).ok());
  ASSERT_EQ(stage.out.size(), 1u);
  EXPECT_EQ(stage.out[0].failures().size(), 1u);
  ASSERT_TRUE(stage.Finish().ok());
}

TEST(ShuffleTest, ABufferOfNothingIsAnError) {
  EXPECT_THAT(MessageOf(Build("shuffle", Params().Set("buffer", 0), kInput)),
              testing::HasSubstr("buffer: expected 1 to"));
}

}  // namespace
}  // namespace headrace::op_test
