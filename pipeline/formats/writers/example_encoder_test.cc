#include "pipeline/formats/writers/example_encoder.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <cmath>

#include "common/test_data.h"
#include "pipeline/formats/testing/read_all.h"

namespace headrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace testing_formats;  // NOLINT: a test's own vocabulary

TEST(ExampleEncoderTest, WritesThePublicWireFormat) {
  ExampleEncoder encoder;
  encoder.AddInt64("n", std::vector<int64_t>{1, 300});
  EXPECT_EQ(*encoder.Take(),
            "\x0a\x0e"              // features
            "\x0a\x0c\x0a\x01n"     // an entry, its key
            "\x12\x07\x1a\x05"      // the feature, its int64_list
            "\x0a\x03\x01\xac\x02"  // packed
  );
  encoder.AddFloat("f", std::vector<float>{1.0f});
  EXPECT_EQ(*encoder.Take(), std::string("\x0a\x0f\x0a\x0d\x0a\x01"
                                         "f\x12\x08\x12\x06\x0a\x04\x00\x00\x80\x3f",
                                         17));
  encoder.AddBytes("b", "xy");
  EXPECT_EQ(*encoder.Take(),
            "\x0a\x0d\x0a\x0b\x0a\x01"
            "b\x12\x06\x0a\x04\x0a\x02xy");
}

TEST(ExampleEncoderTest, FeaturesAreSortedSoEqualExamplesAreEqualBytes) {
  const auto encode = [](std::vector<std::string> names) {
    ExampleEncoder encoder;
    for (const std::string& name : names) encoder.AddBytes(name, name);
    return *encoder.Take();
  };
  EXPECT_EQ(encode({"a", "b", "c", "image", "label"}), encode({"label", "c", "image", "b", "a"}));
}

TEST(ExampleEncoderTest, CellsOfEveryTypeAndTheirLimits) {
  Arena arena;
  const std::string_view words[] = {"x", "", "yz"};
  const uint64_t huge = UINT64_MAX;
  ExampleEncoder encoder;
  ASSERT_TRUE(encoder
                  .AddCell({"i", DType::kInt16, Shape({2})},
                           MakeCell<int16_t>(arena, std::vector<int16_t>{-3, 7}, Shape({2})))
                  .ok());
  ASSERT_TRUE(encoder.AddCell({"d", DType::kFloat64, Shape()}, MakeScalarCell(arena, 0.5)).ok());
  ASSERT_TRUE(
      encoder.AddCell({"w", DType::kBytes, Shape({3})}, MakeBytesCell(arena, words, Shape({3})))
          .ok());
  ASSERT_TRUE(encoder.AddCell({"s", DType::kBytes, Shape()}, MakeBytesCell(arena, "scalar")).ok());
  v1::Example example;
  ASSERT_TRUE(example.ParseFromString(*encoder.Take()));
  const auto& features = example.features().feature();
  EXPECT_THAT(features.at("i").int64_list().value(), ElementsAre(-3, 7));
  EXPECT_THAT(features.at("d").float_list().value(), ElementsAre(0.5f));
  EXPECT_THAT(features.at("w").bytes_list().value(), ElementsAre("x", "", "yz"));
  EXPECT_THAT(features.at("s").bytes_list().value(), ElementsAre("scalar"));

  EXPECT_FALSE(encoder.AddCell({"u", DType::kUInt64, Shape()}, MakeScalarCell(arena, huge)).ok());
  const auto half = EncodeExample(Schema({{"h", DType::kFloat16, Shape()}}),
                                  std::vector<Cell>{MakeScalarCell<uint16_t>(arena, 0)});
  EXPECT_THAT(std::string(half.status().message()), HasSubstr("cast it to float32"));
}

TEST(ExampleEncoderTest, RealExamplesSurviveARoundTrip) {
  const std::string shared = SharedData();
  if (shared.empty()) GTEST_SKIP() << "no shared data (set HEADRACE_SHARED_DATA)";
  auto files = NewLocalFileSystem();
  const ReadOutcome read = ReadFiles(*NewFormat("tfrecord"), *files, shared + "/tfrecord");
  ASSERT_EQ(read.rows.size(), 30u);
  for (const ReadRow& row : read.rows) {
    v1::Example example;
    ASSERT_TRUE(example.ParseFromString(row.cells[0]));
    ASSERT_GT(example.features().feature_size(), 0);
    ExampleEncoder encoder;
    for (const auto& [name, feature] : example.features().feature()) {
      const auto& strings = feature.bytes_list().value();
      const auto& numbers = feature.int64_list().value();
      const auto& floats = feature.float_list().value();
      if (feature.has_bytes_list()) {
        encoder.AddBytes(name, std::vector<std::string_view>(strings.begin(), strings.end()));
      }
      if (feature.has_int64_list())
        encoder.AddInt64(name, {numbers.data(), static_cast<size_t>(numbers.size())});
      if (feature.has_float_list())
        encoder.AddFloat(name, {floats.data(), static_cast<size_t>(floats.size())});
    }
    v1::Example again;
    ASSERT_TRUE(again.ParseFromString(*encoder.Take()));
    EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(example, again));
  }
}

}  // namespace
}  // namespace headrace
