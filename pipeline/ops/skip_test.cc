#include "pipeline/ops/op_harness.h"

namespace headrace::op_test {
namespace {

const Schema kInput({{"x", DType::kInt64, {}}});

TEST(SkipTest, TheFirstRowsAreSettled) {
  auto step = Build("skip", Params().Set("count", 3), kInput);
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_TRUE(step->op->traits().global_order);
  Stage stage(*step);
  ASSERT_TRUE(stage.Push(Numbers(step->input, {0, 1}, 0)).ok());
  ASSERT_TRUE(stage.Finish().ok());
  ASSERT_TRUE(stage.Push(Numbers(step->input, {2, 3, 4}, 2)).ok());
  ASSERT_TRUE(stage.Push(Numbers(step->input, {5}, 5)).ok());
  ASSERT_EQ(stage.out.size(), 3u);
  EXPECT_EQ(stage.out[0].settled(), (Runs{{.first = 0, .count = 2}}));
  EXPECT_EQ(Column<int64_t>(stage.out[1], 0), (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(Column<int64_t>(stage.out[2], 0), (std::vector<int64_t>{5}));
}

TEST(SkipTest, ANegativeCountIsAnError) {
  EXPECT_EQ(MessageOf(Build("skip", Params().Set("count", -1), kInput)),
            "count: expected 0 or more, got -1");
}

}  // namespace
}  // namespace headrace::op_test
