#include "pipeline/record/example_parser.h"

#include <limits>
#include <random>

#include "fmt/core.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pipeline/record/test_example.h"

namespace headrace {
namespace {

using namespace test_example;  // NOLINT: the words of the wire
using testing::ElementsAre;
using testing::HasSubstr;

ExampleParser ParserOf(const std::vector<std::pair<std::string, std::string>>& features) {
  std::vector<ExampleParser::Feature> all;
  for (const auto& [name, type] : features) all.push_back({name, *ParseFieldType(type)});
  auto parser = ExampleParser::Create(std::move(all));
  EXPECT_TRUE(parser.ok()) << parser.status();
  return *std::move(parser);
}

// The cells of one record.
struct Parsed {
  Parsed(const ExampleParser& parser, std::string bytes)
      : record(std::move(bytes)), cells(parser.features().size()) {
    ExampleParser::Scratch scratch;
    status = parser.Parse(record, arena, scratch, cells);
  }
  std::string message() const { return std::string(status.message()); }

  std::string record;
  Arena arena;
  std::vector<Cell> cells;
  absl::Status status;
};

TEST(ExampleParserTest, EachKindIsReadAsScalarListAndFixedShape) {
  const ExampleParser parser = ParserOf({{"s", "bytes"},
                                         {"i", "int64"},
                                         {"f", "float32"},
                                         {"ss", "bytes[]"},
                                         {"ii", "int64[]"},
                                         {"ff", "float32[2,2]"}});
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  const Parsed p(parser, Example({Entry("ff", FloatFeature({1, 2, 3, 4})),
                                  Entry("ii", Int64Feature({kMin, -1, 0, 300})),
                                  Entry("s", BytesFeature({std::string("a\0b", 3)})),
                                  Entry("i", Int64Feature({7})), Entry("f", FloatFeature({0.5f})),
                                  Entry("ss", BytesFeature({"", "xyz"}))}));
  ASSERT_TRUE(p.status.ok()) << p.status;
  EXPECT_EQ(p.cells[0].string(), std::string("a\0b", 3));
  EXPECT_GE(reinterpret_cast<const char*>(p.cells[0].data), p.record.data());  // in place
  EXPECT_LT(reinterpret_cast<const char*>(p.cells[0].data), p.record.data() + p.record.size());
  EXPECT_THAT(p.cells[1].as<int64_t>(), ElementsAre(7));
  EXPECT_THAT(p.cells[2].as<float>(), ElementsAre(0.5f));
  EXPECT_EQ(p.cells[3].shape, Shape{2});
  EXPECT_EQ(p.cells[3].string(0), "");
  EXPECT_EQ(p.cells[3].string(1), "xyz");
  EXPECT_THAT(p.cells[4].as<int64_t>(), ElementsAre(kMin, -1, 0, 300));
  EXPECT_EQ(p.cells[5].shape, (Shape{2, 2}));
  EXPECT_THAT(p.cells[5].as<float>(), ElementsAre(1, 2, 3, 4));
}

TEST(ExampleParserTest, UnpackedAndMixedListsReadTheSame) {
  const ExampleParser parser = ParserOf({{"i", "int64[]"}, {"f", "float32[]"}});
  const float two = 2;
  const std::string mixed_i = Message(
      3, Tag(1, 0) + Varint(1) + Message(1, Varint(2) + Varint(300)) + Tag(1, 0) + Varint(4));
  const std::string mixed_f = Message(2, Tag(1, 5) + Raw(&two, 4) + Message(1, Raw(&two, 4)));
  const Parsed unpacked(parser, Example({Entry("i", Int64Feature({5, -6}, false)),
                                         Entry("f", FloatFeature({1, 2}, false))}));
  EXPECT_THAT(unpacked.cells[0].as<int64_t>(), ElementsAre(5, -6));
  EXPECT_THAT(unpacked.cells[1].as<float>(), ElementsAre(1, 2));
  const Parsed mixed(parser, Example({Entry("i", mixed_i), Entry("f", mixed_f)}));
  ASSERT_TRUE(mixed.status.ok()) << mixed.status;
  EXPECT_THAT(mixed.cells[0].as<int64_t>(), ElementsAre(1, 2, 300, 4));
  EXPECT_THAT(mixed.cells[1].as<float>(), ElementsAre(2, 2));
}

TEST(ExampleParserTest, FloatsAreWholeAtEveryAlignment) {
  const ExampleParser parser = ParserOf({{"f", "float32[]"}});
  for (size_t pad = 0; pad < 8; ++pad) {
    const Parsed p(parser, Example({Entry(std::string(pad + 1, 'x'), BytesFeature({"q"})),
                                    Entry("f", FloatFeature({1, 2, 3}))}));
    ASSERT_TRUE(p.status.ok());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(p.cells[0].data) % alignof(float), 0u);
    EXPECT_THAT(p.cells[0].as<float>(), ElementsAre(1, 2, 3));
  }
}

TEST(ExampleParserTest, LaterDuplicatesWinAndUnknownFieldsAreIgnored) {
  const ExampleParser parser = ParserOf({{"x", "int64[]"}, {"y", "bytes"}});
  const std::string group = Tag(9, 3) + Tag(1, 0) + Varint(5) + Tag(2, 3) + Tag(2, 4) + Tag(9, 4);
  const std::string noise = Tag(7, 0) + Varint(1) + Tag(8, 1) + std::string(8, 'z') + group +
                            Message(6, "abc") + Tag(5, 5) + std::string(4, 'q');
  const std::string x = Message(
      1, noise + Message(1, "x") + noise + Message(2, noise + Int64Feature({1}) + noise) + noise);
  const Parsed p(
      parser, noise + Example({x, Entry("y", BytesFeature({"old"}))}) +
                  Example({Entry("x", Int64Feature({2, 3})), Entry("y", BytesFeature({"new"}))}) +
                  noise);
  ASSERT_TRUE(p.status.ok()) << p.status;
  EXPECT_THAT(p.cells[0].as<int64_t>(), ElementsAre(2, 3));
  EXPECT_EQ(p.cells[1].string(), "new");
  // Within one Feature the last kind counts, and lists of that kind are joined.
  const Parsed joined(
      parser,
      Example({Entry("x", BytesFeature({"a"}) + Int64Feature({1}) + noise + Int64Feature({2})),
               Entry("y", BytesFeature({"a"}) + FloatFeature({1}) + BytesFeature({"b"}))}));
  ASSERT_TRUE(joined.status.ok()) << joined.status;
  EXPECT_THAT(joined.cells[0].as<int64_t>(), ElementsAre(1, 2));
  EXPECT_EQ(joined.cells[1].string(), "b");
}

TEST(ExampleParserTest, AMissingFeatureIsNamedWithThoseThatAreThere) {
  const ExampleParser parser = ParserOf({{"label", "int64"}});
  EXPECT_EQ(Parsed(parser, Example({Entry("image", BytesFeature({"x"})),
                                    Entry("labels", Int64Feature({1}))}))
                .message(),
            "no feature 'label' in the record (features: image, labels)");
  EXPECT_EQ(Parsed(parser, "").message(), "no feature 'label' in the record (features: )");
  EXPECT_THAT(Parsed(parser, Example({Entry("label", "")})).message(),
              HasSubstr("no feature 'label'"));
  std::vector<std::string> many;
  for (int i = 0; i < 30; ++i) many.push_back(Entry("f" + std::to_string(i), Int64Feature({1})));
  EXPECT_THAT(Parsed(parser, Example(many)).message(), HasSubstr("f19, and 10 more)"));
}

TEST(ExampleParserTest, ADefaultStandsInForAMissingFeatureOnly) {
  const ExampleParser parser = ParserOf({{"label", "int64=-1"}, {"ids", "int64[]="}});
  const Parsed p(parser, Example({}));
  ASSERT_TRUE(p.status.ok());
  EXPECT_THAT(p.cells[0].as<int64_t>(), ElementsAre(-1));
  EXPECT_EQ(p.cells[1].shape, Shape{0});
  EXPECT_EQ(Parsed(parser, Example({Entry("label", FloatFeature({1}))})).message(),
            "feature 'label' is a float list; int64 was asked");
  EXPECT_EQ(Parsed(parser, Example({Entry("label", Int64Feature({}))})).message(),
            "feature 'label' has 0 values; int64 takes one (write int64[] for a list)");
}

TEST(ExampleParserTest, EmptyListsAreListsOfNothing) {
  const ExampleParser parser =
      ParserOf({{"s", "bytes[]"}, {"i", "int64[]"}, {"f", "float32[?, 3]"}});
  const Parsed p(parser, Example({Entry("s", BytesFeature({})), Entry("i", Int64Feature({})),
                                  Entry("f", Message(2, ""))}));
  ASSERT_TRUE(p.status.ok()) << p.status;
  EXPECT_EQ(p.cells[0].shape, Shape{0});
  EXPECT_EQ(p.cells[1].shape, Shape{0});
  EXPECT_EQ(p.cells[2].shape, (Shape{0, 3}));
}

TEST(ExampleParserTest, DamageIsReportedWithItsPosition) {
  const ExampleParser parser = ParserOf({{"x", "int64[]"}});
  const std::string good = Example({Entry("x", Int64Feature({1, 2, 3}))});
  const Parsed cut(parser, good.substr(0, good.size() - 1));
  EXPECT_EQ(cut.status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(cut.message(),
              HasSubstr(fmt::format("no tf.train.Example: the message is damaged at byte 2 of {}",
                                    good.size() - 1)));
  EXPECT_THAT(Parsed(parser, "plain text").message(), HasSubstr("no tf.train.Example"));
  EXPECT_THAT(Parsed(parser, Example({Entry("x", Message(3, Message(1, "\x80")))})).message(),
              HasSubstr("feature 'x' is damaged"));
  EXPECT_THAT(
      Parsed(parser,
             Example({Entry("x", Message(3, Message(1, std::string(10, '\xff') + "\x01")))}))
          .message(),
      HasSubstr("feature 'x' is damaged"));
  const ExampleParser floats = ParserOf({{"f", "float32[]"}});
  EXPECT_THAT(Parsed(floats, Example({Entry("f", Message(2, Message(1, "12345")))})).message(),
              HasSubstr("feature 'f' is damaged"));
}

TEST(ExampleParserTest,
     NoCutAndNoFlippedByteReadsBeyondTheRecord) {  // what asan and the fuzz target look for
  const ExampleParser parser =
      ParserOf({{"s", "bytes[]="}, {"i", "int64[]="}, {"f", "float32[]="}, {"o", "bytes="}});
  const std::string good = Example(
      {Entry("s", BytesFeature({"ab", ""})), Entry("i", Int64Feature({1, -2}, false)),
       Entry("f", FloatFeature({1, 2})), Entry("o", BytesFeature({"one"})), Tag(9, 3) + Tag(9, 4)});
  size_t refused = 0;
  for (size_t at = 0; at < good.size(); ++at) {
    std::vector<std::string> bad{good.substr(0, at)};
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = good;
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << bit));
      bad.push_back(std::move(flipped));
    }
    for (std::string& bytes : bad) {
      const Parsed p(parser, std::move(bytes));
      if (!p.status.ok()) {
        ++refused;
        continue;
      }
      for (const Cell& cell : p.cells) ASSERT_TRUE(cell.shape.is_static());
    }
  }
  EXPECT_GT(refused, good.size());
}

TEST(ExampleParserTest, WrongWishesAreErrors) {
  EXPECT_EQ(ExampleParser::Create({{"x", *ParseFieldType("uint8")}}).status().message(),
            "feature 'x': a tf.train.Example holds bytes, int64 and float32, not uint8; cast it "
            "afterwards");
  EXPECT_EQ(ExampleParser::Create({{"x", *ParseFieldType("int64")},
                                   {"y", *ParseFieldType("int64")},
                                   {"x", *ParseFieldType("bytes")}})
                .status()
                .message(),
            "feature 'x' stands twice");
}

}  // namespace
}  // namespace headrace
