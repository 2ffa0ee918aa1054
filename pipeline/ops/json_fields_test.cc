#include <fstream>

#include "common/test_data.h"
#include "pipeline/ops/op_harness.h"

namespace headrace::op_test {
namespace {

const Schema kRecord({{"record", DType::kBytes, {}}, {"line", DType::kInt64, {}}});

TEST(JsonFieldsTest, FieldsStandWhereTheRecordStoodAndWrongRecordsFailAlone) {
  auto step =
      Build("json_fields",
            Params().Set("fields", StringMap{{"user.id", "int64"}, {"tags", "bytes[]="}}), kRecord);
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_EQ(step->output->ToString(), "{user.id: int64 [], tags: bytes [?], line: int64 []}");
  Block block =
      Rows(step->input, {{Text(R"({"user": {"id": 1}, "tags": ["x", "y"]})"), Num<int64_t>(1)},
                         {Text(R"({"user": {"id": "1"}})"), Num<int64_t>(2)},
                         {Text("{"), Num<int64_t>(3)},
                         {Text(R"({"user": {"id": 4}})"), Num<int64_t>(4)}});
  ASSERT_TRUE(RunStateless(*step, block).ok());
  EXPECT_EQ(Column<int64_t>(block, 0), (std::vector<int64_t>{1, 4}));
  EXPECT_EQ(Column<int64_t>(block, 2), (std::vector<int64_t>{1, 4}));
  EXPECT_EQ(block.column(1)[1].shape, Shape{0});
  ASSERT_EQ(block.failures().size(), 2u);
  EXPECT_EQ(block.failures()[0].status.message(),
            "field 'user.id': expected int64, found a string at byte 16");
  EXPECT_EQ(block.failures()[1].status.code(), absl::StatusCode::kDataLoss);
}

TEST(JsonFieldsTest, WrongWordsAreErrorsThatNameTheField) {
  EXPECT_THAT(
      MessageOf(Build("json_fields", Params().Set("fields", StringMap{{"x", "int"}}), kRecord)),
      testing::StartsWith("x: type 'int'"));
  EXPECT_EQ(MessageOf(Build("json_fields", Params().Set("fields", StringMap{{"line", "int64"}}),
                            kRecord)),
            "two fields would be called 'line'");
  EXPECT_EQ(MessageOf(Build("json_fields",
                            Params().Set("fields", StringMap{{"x", "int64"}}).Set("field", "line"),
                            kRecord)),
            "field 'line' is int64 []; expected one bytes value per row");
}

TEST(JsonFieldsTest, ARealFileOfJsonLinesIsRead) {
  const std::string path = SharedData() + "/text/gsm8k-train.jsonl";
  std::ifstream file(path);
  if (SharedData().empty() || !file) GTEST_SKIP() << path << " is not there";
  auto step = Build("json_fields",
                    Params().Set("fields", StringMap{{"question", "bytes"}, {"answer", "bytes"}}),
                    Schema({{"record", DType::kBytes, {}}}));
  ASSERT_TRUE(step.ok());
  std::vector<std::vector<CellMaker>> rows;
  for (std::string line; std::getline(file, line);) rows.push_back({Text(line)});
  Block block = Rows(step->input, rows);
  ASSERT_TRUE(RunStateless(*step, block).ok());
  EXPECT_EQ(block.rows(), 7473u);
  for (const Cell& cell : block.column(1))
    ASSERT_NE(cell.string().find("\n#### "), std::string_view::npos);
}

}  // namespace
}  // namespace headrace::op_test
