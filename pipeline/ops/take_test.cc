#include "pipeline/ops/op_harness.h"

namespace headrace::op_test {
namespace {

const Schema kInput({{"x", DType::kInt64, {}}});

TEST(TakeTest, RowsBeyondTheCountAreSettled) {
  auto step = Build("take", Params().Set("count", 3), kInput);
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_TRUE(step->op->traits().global_order);
  Stage stage(*step);
  EXPECT_FALSE(stage.state->satisfied());
  ASSERT_TRUE(stage.Push(Numbers(step->input, {0, 1}, 0)).ok());
  EXPECT_FALSE(stage.state->satisfied());
  ASSERT_TRUE(stage.Push(Numbers(step->input, {2, 3, 4}, 2)).ok());
  EXPECT_TRUE(stage.state->satisfied());
  ASSERT_EQ(stage.out.size(), 2u);
  EXPECT_EQ(Column<int64_t>(stage.out[1], 0), std::vector<int64_t>{2});
  EXPECT_EQ(stage.out[1].settled(), (Runs{{.first = 3, .count = 2}}));
}

TEST(TakeTest, TheCountHoldsForAllOfATasksSplits) {
  auto step = Build("take", Params().Set("count", 1), kInput);
  ASSERT_TRUE(step.ok());
  Stage stage(*step);
  ASSERT_TRUE(stage.Push(Numbers(step->input, {7})).ok());
  ASSERT_TRUE(stage.Finish().ok());
  ASSERT_TRUE(stage.Push(Numbers(step->input, {8}, 1)).ok());
  EXPECT_EQ(stage.filled().size(), 1u);
}

TEST(TakeTest, NoneIsAllowedLessIsNot) {
  auto step = Build("take", Params().Set("count", 0), kInput);
  ASSERT_TRUE(step.ok());
  EXPECT_TRUE(Stage(*step).state->satisfied());
  EXPECT_EQ(MessageOf(Build("take", Params().Set("count", -1), kInput)),
            "count: expected 0 or more, got -1");
}

}  // namespace
}  // namespace headrace::op_test
