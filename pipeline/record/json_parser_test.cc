#include "pipeline/record/json_parser.h"

#include <cstring>
#include <limits>

#include "fmt/core.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

absl::StatusOr<JsonParser> Create(const std::vector<std::pair<std::string, std::string>>& fields) {
  std::vector<JsonParser::Field> all;
  for (const auto& [path, type] : fields) all.push_back({path, *ParseFieldType(type)});
  return JsonParser::Create(std::move(all));
}

// The cells of one record.
struct Parsed {
  Parsed(const std::vector<std::pair<std::string, std::string>>& fields, std::string_view json)
      : cells(fields.size()) {
    auto parser = Create(fields);
    EXPECT_TRUE(parser.ok()) << parser.status();
    JsonParser::Scratch scratch;
    status = parser->Parse(json, arena, scratch, cells);
  }
  std::string message() const { return std::string(status.message()); }

  Arena arena;
  std::vector<Cell> cells;
  absl::Status status;
};

TEST(JsonParserTest, EachTypeIsReadFromItsJson) {
  const Parsed p(
      {{"s", "bytes"},
       {"i", "int64"},
       {"u", "uint64"},
       {"f", "float32"},
       {"d", "float64"},
       {"b", "bool"},
       {"h", "float16"}},
      R"({"b": true, "skip": {"s": [1, {"i": 2}]}, "i": -9223372036854775808, "u": 18446744073709551615,
                     "f": 3, "d": -2.5e-3, "h": 1.5, "s": "a\u0000\"\u00e9\n"})");
  ASSERT_TRUE(p.status.ok()) << p.status;
  EXPECT_EQ(p.cells[0].string(), std::string_view("a\0\"\xc3\xa9\n", 6));
  EXPECT_THAT(p.cells[1].as<int64_t>(), ElementsAre(std::numeric_limits<int64_t>::min()));
  EXPECT_THAT(p.cells[2].as<uint64_t>(), ElementsAre(std::numeric_limits<uint64_t>::max()));
  EXPECT_THAT(p.cells[3].as<float>(), ElementsAre(3));
  EXPECT_THAT(p.cells[4].as<double>(), ElementsAre(-2.5e-3));
  EXPECT_THAT(p.cells[5].as<uint8_t>(), ElementsAre(1));
  EXPECT_THAT(p.cells[6].as<uint16_t>(), ElementsAre(0x3e00));
}

TEST(JsonParserTest, ListsTakeTheirShape) {
  const Parsed p(
      {{"i", "int64[]"},
       {"s", "bytes[]"},
       {"m", "float32[?, 2]"},
       {"x", "int8[2, 1, 2]"},
       {"e", "float32[]"}},
      R"({"i": [1, -2, 3], "s": ["", "a", "\n"], "m": [[1, 2], [3, 4], [5, 6]], "x": [[[1, 2]], [[3, 4]]], "e": []})");
  ASSERT_TRUE(p.status.ok()) << p.status;
  EXPECT_THAT(p.cells[0].as<int64_t>(), ElementsAre(1, -2, 3));
  EXPECT_EQ(p.cells[1].shape, Shape{3});
  EXPECT_EQ(p.cells[1].string(2), "\n");
  EXPECT_EQ(p.cells[2].shape, (Shape{3, 2}));
  EXPECT_THAT(p.cells[2].as<float>(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(p.cells[3].shape, (Shape{2, 1, 2}));
  EXPECT_EQ(p.cells[4].shape, Shape{0});
}

TEST(JsonParserTest, NestedFieldsHaveDottedPathsOrPointers) {
  const Parsed p(
      {{"user.name", "bytes"},
       {"user.age", "int64"},
       {"/items/1/id", "int64"},
       {"/a.b/c~1d", "int64"},
       {"/~0", "int64"}},
      R"({"items": [{"id": 7}, {"id": 8}], "user": {"age": 30, "name": "ann"}, "a.b": {"c/d": 9}, "~": 1})");
  ASSERT_TRUE(p.status.ok()) << p.status;
  EXPECT_EQ(p.cells[0].string(), "ann");
  EXPECT_THAT(p.cells[1].as<int64_t>(), ElementsAre(30));
  EXPECT_THAT(p.cells[2].as<int64_t>(), ElementsAre(8));
  EXPECT_THAT(p.cells[3].as<int64_t>(), ElementsAre(9));
  EXPECT_THAT(p.cells[4].as<int64_t>(), ElementsAre(1));
  EXPECT_THAT(
      Parsed({{"/0", "int64"}, {"/1/x", "int64"}}, R"([5, {"x": 6}])").cells[1].as<int64_t>(),
      ElementsAre(6));
}

TEST(JsonParserTest, TheLaterOfTwoKeysCountsAndEscapedKeysAreTheirText) {
  EXPECT_THAT(Parsed({{"a", "int64"}}, R"({"a": 1, "\u0061": 2})").cells[0].as<int64_t>(),
              ElementsAre(2));
}

TEST(JsonParserTest, AMissingOrNullFieldIsNamedOrGetsItsDefault) {
  EXPECT_EQ(Parsed({{"label", "int64"}}, R"({"image": 1, "labels": 2})").message(),
            "no field 'label' in the record, or it is null (keys: image, labels)");
  EXPECT_EQ(Parsed({{"user.name", "int64"}}, R"({"user": null})").message(),
            "no field 'user.name' in the record, or it is null (keys: user)");
  const Parsed p({{"label", "int64=-1"}, {"ids", "int64[]="}}, R"({"label": null})");
  ASSERT_TRUE(p.status.ok()) << p.status;
  EXPECT_THAT(p.cells[0].as<int64_t>(), ElementsAre(-1));
  EXPECT_EQ(p.cells[1].shape, Shape{0});
}

TEST(JsonParserTest, AWrongValueIsReportedWithItsByte) {
  const std::vector<std::tuple<std::string, std::string, std::string>> wrong = {
      {"int64", R"({"x": "5"})", "field 'x': expected int64, found a string at byte 6"},
      {"int64", R"({"x": 1.5})", "field 'x': expected int64, found 1.5 at byte 6"},
      {"int64", R"({"x": 9223372036854775808})",
       "field 'x': expected int64, found 9223372036854775808 at byte 6"},
      {"uint8", R"({"x":256})", "field 'x': expected uint8, found 256 at byte 5"},
      {"uint64", R"({"x": -1})", "field 'x': expected uint64, found -1 at byte 6"},
      {"bytes", R"({"x": 5})", "field 'x': expected bytes, found 5 at byte 6"},
      {"bool", R"({"x": 1})", "field 'x': expected bool, found 1 at byte 6"},
      {"float32", R"({"x": {}})", "field 'x': expected float32, found an object at byte 6"},
      {"float32", R"({"x": [1]})", "field 'x': expected float32, found an array at byte 6"},
      {"int64[]", R"({"x": 1})", "field 'x': expected int64[], found 1 at byte 6"},
      {"int64[]", R"({"x": [1, "a"]})", "field 'x': expected int64, found a string at byte 10"},
      {"int64[]", R"({"x": [1, null]})", "field 'x': expected int64, found null at byte 10"},
      {"int64[3]", R"({"x": [1]})",
       "field 'x': the array at byte 6 has 1 items where int64[3] takes 3"},
      {"int64[?, 2]", R"({"x": [[1, 2], [3]]})",
       "field 'x': the array at byte 15 has 1 items where int64[?, 2] takes 2"}};
  for (const auto& [type, json, message] : wrong) {
    const Parsed p({{"x", type}}, json);
    EXPECT_EQ(p.status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(p.message(), message);
  }
  EXPECT_EQ(Parsed({{"a.b", "int64"}}, R"({"a": 5})").message(),
            "'a' is 5 at byte 6; expected an object with 'b'");
  EXPECT_EQ(Parsed({{"a", "int64"}}, "12").message(), "the record is 12; expected an object");
}

TEST(JsonParserTest, WhatIsNoJsonIsDataLoss) {
  for (const char* text :
       {"", " ", "{", R"({"a": 1)", R"({"a": 1]})", R"({"a" 1})", R"({"a": tru})",
        "{\"a\": \"\xff\"}", R"({"a": 1} {)", R"({"a": 1} 2)", R"({"a": "x)", R"({"a": nul})"}) {
    const Parsed p({{"a", "int64"}}, text);
    ASSERT_FALSE(p.status.ok()) << text;
  }
  EXPECT_EQ(Parsed({{"a", "int64"}}, "").status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(Parsed({{"a", "int64"}}, R"({"a": 1} {"a": 2})").message(),
              HasSubstr("at byte 9 of 17"));
}

TEST(JsonParserTest, NothingBehindTheRecordIsTakenForPartOfIt) {
  // The record ends at every distance from a page's end, and digits and brackets follow.
  constexpr size_t kPage = 4096;
  std::vector<char> memory(3 * kPage, '9');
  char* page = memory.data() + (kPage - reinterpret_cast<uintptr_t>(memory.data()) % kPage);
  const std::string json = R"({"a": 1, "b": "x"})";
  for (size_t back = 0; back < 200; ++back) {
    std::fill(memory.begin(), memory.end(), back % 2 == 0 ? '9' : '}');
    char* at = page + kPage - back - json.size();
    std::memcpy(at, json.data(), json.size());
    const Parsed p({{"a", "int64"}, {"b", "bytes"}}, {at, json.size()});
    ASSERT_TRUE(p.status.ok()) << p.status;
    ASSERT_THAT(p.cells[0].as<int64_t>(), ElementsAre(1));
    ASSERT_EQ(p.cells[1].string(), "x");
    ASSERT_FALSE(Parsed({{"a", "int64"}}, {at, json.size() - 1}).status.ok());
  }
}

TEST(JsonParserTest, CellsOutliveTheScratchAndTheNextRecord) {
  auto parser = Create({{"s", "bytes"}, {"l", "bytes[]"}});
  ASSERT_TRUE(parser.ok());
  Arena arena;
  std::vector<Cell> cells(2);
  std::vector<std::vector<Cell>> rows;
  {
    JsonParser::Scratch scratch;
    for (int i = 0; i < 50; ++i) {
      const std::string text(static_cast<size_t>(i * i), static_cast<char>('a' + i % 26));
      ASSERT_TRUE(parser
                      ->Parse(fmt::format(R"({{"l": ["{0}", "-"], "s": "{0}"}})", text), arena,
                              scratch, cells)
                      .ok());
      rows.push_back(cells);
    }
  }
  for (size_t i = 0; i < 50; ++i) {
    const std::string text(i * i, static_cast<char>('a' + i % 26));
    EXPECT_EQ(rows[i][0].string(), text);
    EXPECT_EQ(rows[i][1].string(0), text);
  }
}

TEST(JsonParserTest, WrongPathsAreErrors) {
  EXPECT_EQ(Create({{"a..b", "int64"}}).status().message(),
            "field 'a..b': an empty key; for keys with dots write /key");
  EXPECT_EQ(Create({{"a", "int64"}, {"a.b", "int64"}}).status().message(),
            "field 'a.b' lies inside field 'a'");
  EXPECT_EQ(Create({{"a.b", "int64"}, {"a", "int64"}}).status().message(),
            "field 'a.b' lies inside field 'a'");
  EXPECT_EQ(Create({{"a", "int64"}, {"/a", "int64"}}).status().message(),
            "field '/a' stands twice");
}

}  // namespace
}  // namespace headrace
