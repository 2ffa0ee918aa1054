#include "pipeline/ops/op_harness.h"

namespace headrace::op_test {
namespace {

using testing::HasSubstr;

const Schema kTokens({{"tokens", DType::kInt32, {-1}}, {"id", DType::kInt64, {}}});

Block TokenRows(const SchemaPtr& schema, const std::vector<std::vector<int32_t>>& rows,
                uint64_t first = 0) {
  std::vector<std::vector<CellMaker>> cells;
  for (size_t i = 0; i < rows.size(); ++i) {
    cells.push_back({Nums<int32_t>(rows[i]), Num<int64_t>(static_cast<int64_t>(first + i))});
  }
  return Rows(schema, cells, first);
}

TEST(PaddedBatchTest, EachBatchIsAsLongAsItsLongestRow) {
  auto step =
      Build("padded_batch",
            Params().Set("size", 2).Set("pad_value", -1.0).Set("lengths", "_length"), kTokens);
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_EQ(step->output->ToString(),
            "{tokens: int32 [?, ?], id: int64 [?], tokens_length: int64 [?]}");
  EXPECT_TRUE(step->op->traits().emits_batches);
  Stage stage(*step);
  ASSERT_TRUE(stage.Push(TokenRows(step->input, {{1}, {2, 3}, {4, 5, 6}, {}, {7}})).ok());
  EXPECT_GT(stage.state->held_bytes(), 0u);
  ASSERT_TRUE(stage.Finish().ok());
  EXPECT_EQ(stage.state->held_bytes(), 0u);
  ASSERT_EQ(stage.out.size(), 3u);
  EXPECT_EQ(stage.out[0].column(0)[0].shape, (Shape{2, 2}));
  EXPECT_EQ(Column<int32_t>(stage.out[0], 0), (std::vector<int32_t>{1, -1, 2, 3}));
  EXPECT_EQ(Column<int32_t>(stage.out[1], 0), (std::vector<int32_t>{4, 5, 6, -1, -1, -1}));
  EXPECT_EQ(Column<int64_t>(stage.out[1], 1), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(Column<int64_t>(stage.out[1], 2), (std::vector<int64_t>{3, 0}));
  EXPECT_EQ(stage.out[2].column(0)[0].shape, (Shape{1, 1}));
  EXPECT_EQ(stage.out[1].provenance(0), (Provenance{{.first = 2, .count = 2}}));
}

TEST(PaddedBatchTest, RowsOfManyBlocksMeetInOneBatch) {
  auto step = Build("padded_batch", Params().Set("size", 5), kTokens);
  ASSERT_TRUE(step.ok());
  Stage stage(*step);
  ASSERT_TRUE(stage.Push(TokenRows(step->input, {{1, 1}, {2}}, 0)).ok());
  Block wasteful = TokenRows(step->input, {{3, 3, 3}}, 2);
  wasteful.arena().Allocate(8 << 20);  // not to be kept alive by one short row
  ASSERT_TRUE(stage.Push(std::move(wasteful)).ok());
  EXPECT_LT(stage.state->held_bytes(), 1u << 20);
  ASSERT_TRUE(stage.Push(TokenRows(step->input, {}, 3)).ok());
  ASSERT_TRUE(stage.Push(TokenRows(step->input, {{4}, {5}, {6, 6}}, 3)).ok());
  ASSERT_TRUE(stage.Finish().ok());
  ASSERT_EQ(stage.out.size(), 2u);
  EXPECT_EQ(Column<int32_t>(stage.out[0], 0),
            (std::vector<int32_t>{1, 1, 0, 2, 0, 0, 3, 3, 3, 4, 0, 0, 5, 0, 0}));
  EXPECT_EQ(Column<int32_t>(stage.out[1], 0), (std::vector<int32_t>{6, 6}));
}

TEST(PaddedBatchTest, PadToGivesAStaticShapeAndFailsLongerRows) {
  auto step = Build(
      "padded_batch",
      Params().Set("size", 2).Set("drop_remainder", true).Set("pad_to", StringMap{{"tokens", "3"}}),
      kTokens);
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_EQ(step->output->ToString(), "{tokens: int32 [2, 3], id: int64 [2]}");
  Stage stage(*step);
  ASSERT_TRUE(stage.Push(TokenRows(step->input, {{1}, {1, 2, 3, 4}, {2}, {9}})).ok());
  ASSERT_TRUE(stage.Finish().ok());
  ASSERT_EQ(stage.filled().size(), 1u);
  EXPECT_EQ(Column<int32_t>(*stage.filled()[0], 0), (std::vector<int32_t>{1, 0, 0, 2, 0, 0}));
  ASSERT_EQ(stage.failures().size(), 1u);
  EXPECT_EQ(stage.failures()[0].status.message(),
            "padded_batch: record 1 of split 0 has tokens [4], which is longer than pad_to [3]");
  EXPECT_EQ(stage.out.back().settled(), (Runs{{.first = 3, .count = 1}}));  // the dropped remainder
}

TEST(PaddedBatchTest, ARowOfAnotherRankFailsAlone) {
  auto step = Build("padded_batch", Params().Set("size", 4),
                    Schema({{"x", DType::kInt8, Shape::Unknown()}}));
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_EQ(step->output->ToString(), "{x: int8 [...]}");
  Stage stage(*step);
  ASSERT_TRUE(stage
                  .Push(Rows(step->input, {{Nums<int8_t>({1, 2})},
                                           {Num<int8_t>(3)},
                                           {Nums<int8_t>({4, 5}, {1, 2})},
                                           {Nums<int8_t>({6})}}))
                  .ok());
  ASSERT_TRUE(stage.Finish().ok());
  ASSERT_EQ(stage.filled().size(), 1u);
  EXPECT_EQ(Column<int8_t>(*stage.filled()[0], 0), (std::vector<int8_t>{1, 2, 6, 0}));
  EXPECT_EQ(stage.failures().size(), 2u);
}

TEST(PaddedBatchTest, AWrongFirstRowDoesNotSetTheRankThatPadToGives) {
  auto step = Build("padded_batch", Params().Set("size", 2).Set("pad_to", StringMap{{"x", "2"}}),
                    Schema({{"x", DType::kInt8, Shape::Unknown()}}));
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_EQ(step->output->ToString(), "{x: int8 [?, 2]}");
  Stage stage(*step);
  ASSERT_TRUE(
      stage.Push(Rows(step->input, {{Num<int8_t>(1)}, {Nums<int8_t>({2})}, {Nums<int8_t>({})}}))
          .ok());
  ASSERT_TRUE(stage.Finish().ok());
  ASSERT_EQ(stage.filled().size(), 1u);
  EXPECT_EQ(Column<int8_t>(*stage.filled()[0], 0), (std::vector<int8_t>{2, 0, 0, 0}));
  EXPECT_EQ(stage.failures().size(), 1u);
}

TEST(PaddedBatchTest, StringsOfEveryKindAreBatched) {
  auto step = Build("padded_batch", Params().Set("size", 2),
                    Schema({{"s", DType::kBytes, {}}, {"l", DType::kBytes, {-1}}}));
  ASSERT_TRUE(step.ok());
  Stage stage(*step);
  ASSERT_TRUE(stage
                  .Push(Rows(step->input,
                             {{Text("a"), Texts({"x", "y"}, {2})}, {Text(""), Texts({}, {0})}}))
                  .ok());
  ASSERT_TRUE(stage.Finish().ok());
  EXPECT_EQ(TextColumn(stage.out[0], 0), (std::vector<std::string>{"a", ""}));
  EXPECT_EQ(TextColumn(stage.out[0], 1), (std::vector<std::string>{"x", "y", "", ""}));
}

TEST(PaddedBatchTest, WrongWordsAreErrorsThatNameTheField) {
  const auto message = [](const Params& params) {
    return MessageOf(Build("padded_batch", params, kTokens));
  };
  const auto pad_to = [](std::string text) {
    return Params().Set("size", 2).Set("pad_to", StringMap{{"tokens", std::move(text)}});
  };
  EXPECT_THAT(message(Params().Set("size", 0)), HasSubstr("size: expected 1 to"));
  EXPECT_THAT(message(pad_to("0")), HasSubstr("pad_to: tokens: '0' is no length"));
  EXPECT_THAT(message(pad_to("")), HasSubstr("pad_to: tokens: '' is no length"));
  EXPECT_EQ(message(pad_to("[4, 4]")), "pad_to [4, 4] does not hold field 'tokens', which is [?]");
  EXPECT_THAT(message(Params().Set("size", 2).Set("pad_to", StringMap{{"token", "4"}})),
              HasSubstr("did you mean 'tokens'?"));
  EXPECT_EQ(message(Params().Set("size", 2).Set("pad_value", 0.5)),
            "field 'tokens': pad_value 0.5 does not fit int32");
  const Schema fixed({{"x", DType::kInt8, {3}}, {"n", DType::kUInt8, {}}});
  EXPECT_TRUE(Build("padded_batch", Params().Set("size", 2).Set("pad_value", -1.0),
                    Schema({{"n", DType::kUInt8, {}}}))
                  .ok());
  EXPECT_THAT(MessageOf(Build("padded_batch", Params().Set("size", 2).Set("lengths", "_n"), fixed)),
              HasSubstr("lengths: no field of"));
  EXPECT_EQ(MessageOf(Build("padded_batch",
                            Params().Set("size", 2).Set("pad_to", StringMap{{"x", "2"}}), fixed)),
            "pad_to [2] does not hold field 'x', which is [3]");
}

}  // namespace
}  // namespace headrace::op_test
