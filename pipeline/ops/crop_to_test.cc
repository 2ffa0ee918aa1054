#include <set>

#include "common/npy_file.h"
#include "pipeline/ops/op_harness.h"

namespace headrace::op_test {
namespace {

Params To(std::vector<int64_t> shape) {
  return Params().Set("field", "x").Set("shape", std::move(shape));
}
Schema Numbers32(Shape shape) { return Schema({{"x", DType::kInt32, shape}}); }

TEST(CropToTest, RowsAreCutAsNumpyDoes) {
  const auto in = ReadGolden("box_in");  // [3, 4, 6]
  ASSERT_TRUE(in.ok()) << in.status();
  for (const char* align : {"start", "center", "end"}) {
    auto step = Build("crop_to", To({2, -1, 3}).Set("align", align), Numbers32({3, 4, -1}));
    ASSERT_TRUE(step.ok()) << step.status();
    EXPECT_EQ((*step->output)[0].shape, (Shape{2, 4, -1}));
    Block block = Rows(step->input, {{Nums<int32_t>(in->as<int32_t>(), Shape(in->shape))}});
    ASSERT_TRUE(RunStateless(*step, block).ok());
    const auto golden = ReadGolden(std::string("crop_to_") + align);
    ASSERT_TRUE(golden.ok()) << golden.status();
    EXPECT_EQ(Column<int32_t>(block, 0), golden->as<int32_t>()) << align;
  }
}

TEST(CropToTest, AShorterRowStaysAsItIs) {
  auto step = Build("crop_to", To({4}), Numbers32({-1}));
  ASSERT_TRUE(step.ok());
  Block block = Rows(step->input, {{Nums<int32_t>({1, 2})}, {Nums<int32_t>({1, 2, 3, 4, 5})}});
  ASSERT_TRUE(RunStateless(*step, block).ok());
  EXPECT_EQ(Column<int32_t>(block, 0), (std::vector<int32_t>{1, 2, 1, 2, 3, 4}));
}

// Where each of `rows` equal rows 0 .. 9 was cut to four.
std::vector<int32_t> Starts(size_t rows, const RandomKey& key) {
  auto step = Build("crop_to", To({4}).Set("align", "random"), Numbers32({-1}));
  EXPECT_TRUE(step.ok() && step->op->traits().random);
  Block block = Rows(step->input, std::vector<std::vector<CellMaker>>(
                                      rows, {Nums<int32_t>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9})}));
  StepContext context;
  context.random = key;
  EXPECT_TRUE(RunStateless(*step, block, context).ok());
  std::vector<int32_t> out;
  for (const Cell& cell : block.column(0)) {
    out.push_back(cell.as<int32_t>()[0]);
    EXPECT_EQ(cell.as<int32_t>()[3], out.back() + 3);
  }
  return out;
}

TEST(CropToTest, RandomPartsAreDrawnByRecordAndReachEveryPlace) {
  const RandomKey key{.seed = 1, .epoch = 2, .step = 3};
  const std::vector<int32_t> starts = Starts(200, key);
  EXPECT_EQ(std::set<int32_t>(starts.begin(), starts.end()).size(), 7u);
  EXPECT_EQ(starts, Starts(200, key));
  EXPECT_NE(starts, Starts(200, {.seed = 1, .epoch = 3, .step = 3}));
}

TEST(CropToTest, WhatCannotBeIsRefusedWithWords) {
  EXPECT_EQ(MessageOf(Build("crop_to", To({2, 2}), Numbers32({-1}))),
            "field 'x' is [?]; shape has 2 lengths");
  EXPECT_EQ(MessageOf(Build("crop_to", To({-2}), Numbers32({-1}))),
            "shape: expected lengths of 0 to 2147483648, or -1 for as it is, got -2");
  EXPECT_EQ(MessageOf(Build("crop_to", To({2}).Set("align", "middle"), Numbers32({-1}))),
            "align: expected start, center, random or end, got 'middle'");
}

}  // namespace
}  // namespace headrace::op_test
