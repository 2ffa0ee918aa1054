#include "pipeline/ops/op_harness.h"

namespace headrace::op_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Params Size(int64_t size, bool drop_remainder = false) {
  return Params().Set("size", size).Set("drop_remainder", drop_remainder);
}

TEST(BatchTest, TheSchemaGetsADimensionThatIsStaticWhenRemaindersAreDropped) {
  const Schema input({{"image", DType::kUInt8, {-1, 3}},
                      {"name", DType::kBytes, {}},
                      {"any", DType::kInt8, Shape::Unknown()}});
  auto open = Build("batch", Size(4), input);
  ASSERT_TRUE(open.ok()) << open.status();
  EXPECT_EQ(open->output->ToString(), "{image: uint8 [?, ?, 3], name: bytes [?], any: int8 [...]}");
  EXPECT_TRUE(open->op->traits().emits_batches);
  auto fixed = Build("batch", Size(4, true), input);
  ASSERT_TRUE(fixed.ok());
  EXPECT_EQ(fixed->output->ToString(),
            "{image: uint8 [4, ?, 3], name: bytes [4], any: int8 [...]}");
}

TEST(BatchTest, RowsOfUnlikeBlocksFillBatchesInOrder) {
  auto step = Build("batch", Size(4), Schema({{"x", DType::kInt64, {}}}));
  ASSERT_TRUE(step.ok());
  Stage stage(*step);
  ASSERT_TRUE(stage.Push(Numbers(step->input, {0, 1, 2}, 0)).ok());
  EXPECT_TRUE(stage.out.empty());
  EXPECT_GE(stage.state->held_bytes(), 4 * sizeof(int64_t));
  ASSERT_TRUE(stage.Push(Numbers(step->input, {}, 3)).ok());
  ASSERT_TRUE(stage.Push(Numbers(step->input, {3, 4, 5, 6, 7, 8}, 3)).ok());
  ASSERT_EQ(stage.out.size(), 2u);
  ASSERT_TRUE(stage.Finish().ok());
  EXPECT_EQ(stage.state->held_bytes(), 0u);
  ASSERT_EQ(stage.out.size(), 3u);
  EXPECT_EQ(Column<int64_t>(stage.out[0], 0), (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(Column<int64_t>(stage.out[1], 0), (std::vector<int64_t>{4, 5, 6, 7}));
  EXPECT_EQ(Column<int64_t>(stage.out[2], 0), (std::vector<int64_t>{8}));
  EXPECT_EQ(stage.out[2].column(0)[0].shape, Shape{1});
  EXPECT_EQ(stage.out[0].provenance(0), (Provenance{{.first = 0, .count = 4}}));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(stage.out[0].column(0)[0].data) % 64, 0u);
}

TEST(BatchTest, AStringFieldAndARankFiveTensorBatchTogether) {
  const Schema input({{"t", DType::kFloat32, {1, 2, 1, 1, 2}},
                      {"s", DType::kBytes, {}},
                      {"l", DType::kBytes, {-1}}});
  auto step = Build("batch", Size(2), input);
  ASSERT_TRUE(step.ok()) << step.status();
  Stage stage(*step);
  const Shape five{1, 2, 1, 1, 2};
  const std::string zero("a\0", 2);
  ASSERT_TRUE(stage
                  .Push(Rows(step->input,
                             {{Nums<float>({1, 2, 3, 4}, five), Text(zero), Texts({"p", ""}, {2})},
                              {Nums<float>({5, 6, 7, 8}, five), Text(""), Texts({"", "q"}, {2})}}))
                  .ok());
  ASSERT_TRUE(stage.Finish().ok());
  ASSERT_EQ(stage.out.size(), 1u);
  EXPECT_EQ(stage.out[0].column(0)[0].shape, (Shape{2, 1, 2, 1, 1, 2}));
  EXPECT_EQ(Column<float>(stage.out[0], 0), (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(TextColumn(stage.out[0], 1), (std::vector<std::string>{zero, ""}));
  EXPECT_EQ(stage.out[0].column(2)[0].shape, (Shape{2, 2}));
  EXPECT_EQ(TextColumn(stage.out[0], 2), (std::vector<std::string>{"p", "", "", "q"}));
}

TEST(BatchTest, ARowOfAnotherShapeFailsAloneAndIsNamed) {
  const Schema input({{"id", DType::kInt64, {}}, {"x", DType::kInt8, {-1}}});
  auto step = Build("batch", Size(2), input);
  ASSERT_TRUE(step.ok());
  Stage stage(*step);
  ASSERT_TRUE(stage
                  .Push(Rows(step->input,
                             {{Num<int64_t>(0), Nums<int8_t>({1, 2, 3, 4})},
                              {Num<int64_t>(1), Nums<int8_t>({1, 2, 3})},
                              {Num<int64_t>(2), Nums<int8_t>({5, 6, 7, 8})},
                              {Num<int64_t>(3), Nums<int8_t>({})},
                              {Num<int64_t>(4), Nums<int8_t>({})}},
                             10, 7))
                  .ok());
  ASSERT_TRUE(stage.Finish().ok());
  ASSERT_EQ(stage.filled().size(), 2u);
  EXPECT_EQ(Column<int64_t>(*stage.filled()[0], 0), (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(Column<int64_t>(*stage.filled()[1], 0), (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(stage.filled()[1]->column(1)[0].shape, (Shape{2, 0}));
  ASSERT_EQ(stage.failures().size(), 1u);
  EXPECT_EQ(stage.failures()[0].record, RunOf({.split = 7, .index = 11}));
  EXPECT_EQ(stage.failures()[0].status.message(),
            "batch: record 11 of split 7 has x [3] where the batch, begun by record 10 of split 7, "
            "has [4]; use "
            "padded_batch or make them equal");
}

TEST(BatchTest, ADroppedRemainderIsSettled) {
  auto step = Build("batch", Size(3, true), Schema({{"x", DType::kInt64, {}}}));
  ASSERT_TRUE(step.ok());
  Stage stage(*step);
  ASSERT_TRUE(stage.Push(Numbers(step->input, {0, 1, 2, 3, 4})).ok());
  ASSERT_TRUE(stage.Finish().ok());
  ASSERT_EQ(stage.out.size(), 2u);
  EXPECT_EQ(stage.out[1].rows(), 0u);
  EXPECT_EQ(stage.out[1].settled(), (Runs{{.first = 3, .count = 2}}));
  // The state is as new: what follows does not mix with what was dropped.
  ASSERT_TRUE(stage.Push(Numbers(step->input, {5, 6, 7}, 5)).ok());
  ASSERT_TRUE(stage.Finish().ok());
  ASSERT_EQ(stage.out.size(), 3u);
  EXPECT_EQ(Column<int64_t>(stage.out[2], 0), (std::vector<int64_t>{5, 6, 7}));
}

TEST(BatchTest, WhatEndedBeforeGoesOutAtOnce) {
  auto step = Build("batch", Size(8), Schema({{"x", DType::kInt64, {}}}));
  ASSERT_TRUE(step.ok());
  Stage stage(*step);
  Block block = Numbers(step->input, {0, 1});
  block.Filter(1);
  block.Compact();
  block.FailRecord({.first = 2, .count = 1}, DataLoss("x"));
  ASSERT_TRUE(stage.Push(std::move(block)).ok());
  ASSERT_EQ(stage.out.size(), 1u);
  EXPECT_EQ(stage.out[0].settled().size(), 2u);
  EXPECT_EQ(stage.out[0].failures().size(), 1u);
  ASSERT_TRUE(stage.Finish().ok());
}

TEST(BatchTest, WrongParametersAndTooManyDimensionsAreErrors) {
  const Schema scalar({{"x", DType::kInt64, {}}});
  EXPECT_THAT(MessageOf(Build("batch", Size(0), scalar)), HasSubstr("size: expected 1 to"));
  EXPECT_THAT(MessageOf(Build("batch", Size(int64_t{1} << 40), scalar)),
              HasSubstr("size: expected 1 to"));
  EXPECT_THAT(
      MessageOf(Build("batch", Size(2), Schema({{"deep", DType::kInt8, {1, 1, 1, 1, 1, 1}}}))),
      HasSubstr("field 'deep' [1, 1, 1, 1, 1, 1] has 6 dimensions already"));
}

TEST(BatchTest, ABatchThatCannotBeHeldEndsTheTaskWithAReason) {
  auto step = Build("batch", Size(1 << 30), Schema({{"x", DType::kInt64, {-1}}}));
  ASSERT_TRUE(step.ok());
  auto state = dynamic_cast<const StatefulOp&>(*step->op).NewState({});
  const absl::Status status =
      state->Push(Rows(step->input, {{Nums<int64_t>({1, 2, 3})}}), [](Block) { ADD_FAILURE(); });
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
}

}  // namespace
}  // namespace headrace::op_test
