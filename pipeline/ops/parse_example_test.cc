#include <cstdint>
#include <fstream>
#include <limits>
#include <sstream>

#include "common/test_data.h"
#include "pipeline/ops/op_harness.h"
#include "pipeline/record/test_example.h"

namespace headrace::op_test {
namespace {

using testing::HasSubstr;
using namespace test_example;  // NOLINT: the words of the wire

const Schema kRecord({{"path", DType::kBytes, {}},
                      {"record", DType::kBytes, {}},
                      {"index", DType::kInt64, {}}});

Params Features(StringMap features) { return Params().Set("features", std::move(features)); }

TEST(ParseExampleTest, FeaturesStandWhereTheRecordStood) {
  auto step =
      Build("parse_example",
            Features({{"image", "bytes"}, {"label", "int64"}, {"box", "float32[4]"}}), kRecord);
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_EQ(
      step->output->ToString(),
      "{path: bytes [], image: bytes [], label: int64 [], box: float32 [4], index: int64 []}");
  const std::string record =
      Example({Entry("label", Int64Feature({3})), Entry("image", BytesFeature({"jpeg"})),
               Entry("box", FloatFeature({1, 2, 3, 4}))});
  Block block = Rows(step->input, {{Text("p"), Text(record), Num<int64_t>(9)}});
  ASSERT_TRUE(RunStateless(*step, block).ok());
  EXPECT_EQ(block.column(1)[0].string(), "jpeg");
  EXPECT_EQ(Column<int64_t>(block, 2), std::vector<int64_t>{3});
  EXPECT_EQ(Column<int64_t>(block, 4), std::vector<int64_t>{9});
}

TEST(ParseExampleTest, OnlyWrongRecordsFail) {
  auto step = Build("parse_example", Features({{"label", "int64"}}),
                    Schema({{"record", DType::kBytes, {}}}));
  ASSERT_TRUE(step.ok());
  const auto good = [](int64_t label) {
    return Text(Example({Entry("label", Int64Feature({label}))}));
  };
  Block block = Rows(step->input, {{good(1)},
                                   {Text("not one")},
                                   {Text("")},
                                   {good(4)},
                                   {Text(Example({Entry("label", BytesFeature({"5"}))}))}});
  ASSERT_TRUE(RunStateless(*step, block).ok());
  EXPECT_EQ(Column<int64_t>(block, 0), (std::vector<int64_t>{1, 4}));
  ASSERT_EQ(block.failures().size(), 3u);
  EXPECT_EQ(block.failures()[0].status.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(block.failures()[2].record.first, 4u);
  EXPECT_EQ(block.failures()[2].status.message(),
            "feature 'label' is a bytes list; int64 was asked");
}

TEST(ParseExampleTest, AnotherFieldThanRecordMayBeRead) {
  auto step = Build("parse_example", Features({{"label", "int64"}}).Set("field", "payload"),
                    Schema({{"payload", DType::kBytes, {}}}));
  ASSERT_TRUE(step.ok()) << step.status();
}

TEST(ParseExampleTest, WrongWordsAreErrorsThatNameTheField) {
  const auto message = [](StringMap features, const Schema& input) {
    return MessageOf(Build("parse_example", Features(std::move(features)), input));
  };
  EXPECT_EQ(message({{"x", "int64"}}, Schema({{"record", DType::kInt64, {}}})),
            "field 'record' is int64 []; expected one bytes value per row");
  EXPECT_EQ(message({{"x", "int64"}}, Schema({{"image", DType::kInt64, {}}})),
            "no field 'record' (fields: image)");
  EXPECT_EQ(message({{"path", "bytes"}}, kRecord), "two fields would be called 'path'");
  EXPECT_THAT(message({{"x", "int46"}}, kRecord), testing::StartsWith("x: type 'int46'"));
  EXPECT_THAT(message({{"x", "int32"}}, kRecord),
              HasSubstr("holds bytes, int64 and float32, not int32"));
  EXPECT_EQ(message({}, kRecord), "no field is asked of 'record'");
}

// The records of a TFRecord file: length (8), its checksum (4), payload, its checksum (4). The
// format's own reader checks them; here they are only cut.
std::vector<std::string> TfRecords(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  const std::string all = bytes.str();
  std::vector<std::string> records;
  for (size_t at = 0; at + 12 <= all.size();) {
    uint64_t length = 0;
    std::memcpy(&length, all.data() + at, sizeof(length));
    records.push_back(all.substr(at + 12, length));
    at += 12 + length + 4;
  }
  return records;
}

// All records of a file by another writer, parsed.
Block ParsedFile(const std::string& name, StringMap features) {
  auto step = Build("parse_example", Features(std::move(features)),
                    Schema({{"record", DType::kBytes, {}}}));
  EXPECT_TRUE(step.ok()) << step.status();
  std::vector<std::vector<CellMaker>> rows;
  for (const std::string& record : TfRecords(SharedData() + "/tfrecord/" + name))
    rows.push_back({Text(record)});
  Block block = Rows(step->input, rows);
  EXPECT_TRUE(RunStateless(*step, block).ok());
  for (const RowFailure& failure : block.failures())
    ADD_FAILURE() << name << ": " << failure.status;
  return block;
}

TEST(ParseExampleTest, FilesByTensorFlowAreRead) {
  if (SharedData().empty()) {
    GTEST_SKIP() << "no shared/data/tfrecord beside the source or in $HEADRACE_SHARED_DATA";
  }
  const Block images = ParsedFile("test_tf_file_3_images-train-0000-of-0001.data",
                                  {{"image", "bytes"}, {"label", "int64"}});
  ASSERT_EQ(images.rows(), 3u);
  for (const Cell& cell : images.column(0))
    EXPECT_EQ(cell.string().substr(0, 2), "\xff\xd8");  // JPEG
  EXPECT_EQ(images.column(0)[0].bytes, 159113u - 4);    // its list has 4 bytes of tag and length

  const Block bert =
      ParsedFile("testTFBert5Rows-5TFDatas.data", {{"input_ids", "int64[128]"},
                                                   {"masked_lm_weights", "float32[20]"},
                                                   {"next_sentence_labels", "int64"}});
  ASSERT_EQ(bert.rows(), 5u);
  EXPECT_EQ(bert.column(0)[0].as<int64_t>()[0], 101);  // [CLS]
  EXPECT_EQ(bert.column(1)[0].as<float>()[0], 1.0f);

  const Block types = ParsedFile("testTFTestAllTypes-test.data", {{"col_sint64", "int64"},
                                                                  {"col_3d", "int64[2, 2, 2]"},
                                                                  {"col_float", "float32"},
                                                                  {"col_binary", "bytes"}});
  ASSERT_EQ(types.rows(), 12u);
  EXPECT_EQ(types.column(0)[0].as<int64_t>()[0], std::numeric_limits<int64_t>::min());
  EXPECT_EQ(types.column(1)[0].as<int64_t>()[7], 7);
  EXPECT_EQ(types.column(2)[0].as<float>()[0], -std::numeric_limits<float>::max());
  EXPECT_EQ(types.column(3)[0].string(), "a");

  const Block dummy = ParsedFile("testTFRecordData-dummy.tfrecord",
                                 {{"image/encoded", "bytes"}, {"image/class/label", "int64"}});
  ASSERT_EQ(dummy.rows(), 10u);
  EXPECT_EQ(dummy.column(0)[9].string(), "aaaabbbbcccc9");
}

}  // namespace
}  // namespace headrace::op_test
