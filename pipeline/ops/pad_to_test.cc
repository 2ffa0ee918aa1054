#include "common/npy_file.h"
#include "pipeline/ops/op_harness.h"

namespace headrace::op_test {
namespace {

Params To(std::vector<int64_t> shape) {
  return Params().Set("field", "x").Set("shape", std::move(shape));
}
Schema Numbers32(Shape shape) { return Schema({{"x", DType::kInt32, shape}}); }

TEST(PadToTest, RowsAreFilledUpAsNumpyDoes) {
  const auto in = ReadGolden("box_in");
  ASSERT_TRUE(in.ok()) << in.status();
  const Shape shape(in->shape);
  for (const char* align : {"start", "center", "end"}) {
    auto step = Build("pad_to", To({5, -1, 9}).Set("align", align).Set("value", -7),
                      Numbers32({-1, 4, -1}));
    ASSERT_TRUE(step.ok()) << step.status();
    EXPECT_EQ((*step->output)[0].shape, (Shape{5, 4, 9}));
    Block block = Rows(step->input, {{Nums<int32_t>(in->as<int32_t>(), shape)}});
    ASSERT_TRUE(RunStateless(*step, block).ok());
    const auto golden = ReadGolden(std::string("pad_to_") + align);
    ASSERT_TRUE(golden.ok()) << golden.status();
    EXPECT_EQ(Column<int32_t>(block, 0), golden->as<int32_t>()) << align;
  }
}

TEST(PadToTest, ARowOfTheRightShapeIsNotCopied) {
  auto step = Build("pad_to", To({2}), Numbers32({-1}));
  ASSERT_TRUE(step.ok());
  Block block = Rows(step->input, {{Nums<int32_t>({1, 2})}, {Nums<int32_t>({})}});
  const std::byte* before = block.column(0)[0].data;
  ASSERT_TRUE(RunStateless(*step, block).ok());
  EXPECT_EQ(block.column(0)[0].data, before);
  EXPECT_EQ(Column<int32_t>(block, 0), (std::vector<int32_t>{1, 2, 0, 0}));
}

TEST(PadToTest, ALongerRowFails) {
  auto step = Build("pad_to", To({2}), Numbers32({-1}));
  ASSERT_TRUE(step.ok());
  Block block = Rows(step->input, {{Nums<int32_t>({1, 2, 3})}, {Nums<int32_t>({4})}});
  ASSERT_TRUE(RunStateless(*step, block).ok());
  EXPECT_EQ(Column<int32_t>(block, 0), (std::vector<int32_t>{4, 0}));
  ASSERT_EQ(block.failures().size(), 1u);
  EXPECT_EQ(block.failures()[0].status.message(),
            "field 'x' is [3], which is longer than [2]; cut it first with crop_to");
}

TEST(PadToTest, AHugeShapeFailsItsRowBeforeMemoryIsTaken) {
  auto step = Build("pad_to", To({1 << 30, 1 << 30}), Numbers32({-1, -1}));
  ASSERT_TRUE(step.ok());
  Block block = Rows(step->input, {{Nums<int32_t>({1}, {1, 1})}});
  ASSERT_TRUE(RunStateless(*step, block).ok());
  ASSERT_EQ(block.failures().size(), 1u);
  EXPECT_EQ(block.failures()[0].status.message(),
            "field 'x' padded to [1073741824, 1073741824] is over the limit of 1073741824 bytes");
}

TEST(PadToTest, WhatCannotBeIsRefusedWithWords) {
  EXPECT_EQ(MessageOf(Build("pad_to", To({2, 2}), Numbers32({-1}))),
            "field 'x' is [?]; shape has 2 lengths");
  EXPECT_EQ(MessageOf(Build("pad_to", To({2}), Numbers32({3}))),
            "field 'x' is [3], which is longer than [2]; cut it first with crop_to");
  EXPECT_EQ(MessageOf(Build("pad_to", To({2}).Set("value", 0.5), Numbers32({-1}))),
            "value: 0.5 does not fit int32");
  EXPECT_EQ(MessageOf(Build("pad_to", To({2}).Set("align", "random"), Numbers32({-1}))),
            "align: expected start, center or end, got 'random'");
  EXPECT_EQ(MessageOf(Build("pad_to", To({}), Numbers32({-1}))),
            "shape: expected 1 to 6 lengths, got 0");
}

}  // namespace
}  // namespace headrace::op_test
