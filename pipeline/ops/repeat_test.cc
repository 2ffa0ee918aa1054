#include "pipeline/ops/op_harness.h"

namespace headrace::op_test {
namespace {

const Schema kInput({{"x", DType::kInt64, {}}});

TEST(RepeatTest, RowsPassBecauseThePassesAreMadeAtTheSource) {
  auto step = Build("repeat", Params().Set("count", 2), kInput);
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_FALSE(step->op->traits().one_to_one);
  Block block = Numbers(step->input, {1, 2});
  ASSERT_TRUE(RunStateless(*step, block).ok());
  EXPECT_EQ(block.rows(), 2u);
}

TEST(RepeatTest, LessThanOnePassIsAnError) {
  EXPECT_EQ(MessageOf(Build("repeat", Params().Set("count", 0), kInput)),
            "count: expected 1 or more, got 0");
}

}  // namespace
}  // namespace headrace::op_test
