#include "pipeline/ops/op_harness.h"

namespace headrace::op_test {
namespace {

Params Classes(int64_t n) { return Params().Set("field", "label").Set("num_classes", n); }
Schema Labels(DType dtype, Shape shape = {}) { return Schema({{"label", dtype, shape}}); }

TEST(OneHotTest, AOneStandsAtTheClass) {
  auto step = Build("one_hot", Classes(4), Labels(DType::kInt64));
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_EQ(step->output->ToString(), "{label: float32 [4]}");
  Block block = Rows(step->input, {{Num<int64_t>(2)}, {Num<int64_t>(0)}});
  ASSERT_TRUE(RunStateless(*step, block).ok());
  EXPECT_EQ(Column<float>(block, 0), (std::vector<float>{0, 0, 1, 0, 1, 0, 0, 0}));
}

TEST(OneHotTest, AnyShapeGetsALastDimension) {
  auto step = Build("one_hot", Classes(3).Set("dtype", "uint8"), Labels(DType::kUInt8, {-1}));
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_EQ(step->output->ToString(), "{label: uint8 [?, 3]}");
  Block block = Rows(step->input, {{Nums<uint8_t>({1, 2})}, {Nums<uint8_t>({})}});
  ASSERT_TRUE(RunStateless(*step, block).ok());
  EXPECT_EQ(Column<uint8_t>(block, 0), (std::vector<uint8_t>{0, 1, 0, 0, 0, 1}));
  EXPECT_EQ(block.column(0)[1].shape, (Shape{0, 3}));
}

TEST(OneHotTest, SixteenBitFloatsHoldARealOne) {
  auto step = Build("one_hot", Classes(2).Set("dtype", "bfloat16"), Labels(DType::kInt32));
  ASSERT_TRUE(step.ok()) << step.status();
  Block block = Rows(step->input, {{Num<int32_t>(1)}});
  ASSERT_TRUE(RunStateless(*step, block).ok());
  EXPECT_EQ(Column<uint16_t>(block, 0), (std::vector<uint16_t>{0, 0x3f80}));
}

TEST(OneHotTest, ANumberThatIsNoClassFailsItsRow) {
  auto step = Build("one_hot", Classes(10), Labels(DType::kInt64));
  ASSERT_TRUE(step.ok());
  Block block = Numbers(step->input, {3, 10, -1});
  ASSERT_TRUE(RunStateless(*step, block).ok());
  EXPECT_EQ(block.rows(), 1u);
  ASSERT_EQ(block.failures().size(), 2u);
  EXPECT_EQ(block.failures()[0].status.message(),
            "field 'label': item 0 is 10, which is no class: num_classes is 10, so 0 to 9");
}

TEST(OneHotTest, WhatCannotBeIsRefusedWithWords) {
  EXPECT_EQ(MessageOf(Build("one_hot", Classes(3), Labels(DType::kFloat32, {2}))),
            "field 'label' is float32 [2]; one_hot takes class numbers of an integer type (cast it "
            "first)");
  EXPECT_EQ(MessageOf(Build("one_hot", Classes(0), Labels(DType::kInt64))),
            "num_classes: expected 1 to 16777216, got 0");
  EXPECT_EQ(MessageOf(Build("one_hot", Classes(3).Set("dtype", "bytes"), Labels(DType::kInt64))),
            "dtype: expected a numeric type");
}

TEST(OneHotTest, AResultOverTheLimitFailsItsRow) {
  auto step = Build("one_hot", Classes(1 << 24), Labels(DType::kInt64, {-1}));
  ASSERT_TRUE(step.ok());
  Block block = Rows(step->input, {{Nums<int64_t>(std::vector<int64_t>(17, 1))}});
  ASSERT_TRUE(RunStateless(*step, block).ok());
  EXPECT_EQ(block.rows(), 0u);
}

}  // namespace
}  // namespace headrace::op_test
