#include "pipeline/expression/expression.h"

#include <cmath>
#include <limits>
#include <map>

#include "element/numeric.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

Schema TestSchema() {
  return Schema({{"i", DType::kInt64, {}},
                 {"small", DType::kUInt8, {}},
                 {"u", DType::kUInt64, {}},
                 {"f", DType::kFloat32, {}},
                 {"h", DType::kFloat16, {}},
                 {"b", DType::kBool, {}},
                 {"text", DType::kBytes, {}},
                 {"tokens", DType::kInt32, {-1}},
                 {"image", DType::kUInt8, {-1, -1, 3}},
                 {"any", DType::kInt8, Shape::Unknown()},
                 {"user.name", DType::kBytes, {}},
                 {"a-b c", DType::kInt64, {}}});
}

struct Row {
  int64_t i = 0;
  uint64_t u = 0;
  float f = 0;
  bool b = false;
  std::string text = {};
  std::vector<int32_t> tokens = {};
};

// Rows of TestSchema; `small` is i's low byte, `h` is 0.5, `image` is [2, tokens, 3], `any` is [3].
Block Rows(const std::vector<Row>& rows) {
  Block block(std::make_shared<const Schema>(TestSchema()));
  Arena& arena = block.arena();
  for (uint64_t n = 0; n < rows.size(); ++n) {
    const Row& row = rows[n];
    const auto width = static_cast<int64_t>(row.tokens.size());
    const std::vector<uint8_t> pixels(static_cast<size_t>(6 * width), 7);
    const std::vector<int8_t> any{1, 2, 3};
    const Cell cells[] = {MakeScalarCell<int64_t>(arena, row.i),
                          MakeScalarCell<uint8_t>(arena, static_cast<uint8_t>(row.i)),
                          MakeScalarCell<uint64_t>(arena, row.u),
                          MakeScalarCell<float>(arena, row.f),
                          MakeScalarCell<Half>(arena, ToHalf(0.5f)),
                          MakeScalarCell<bool>(arena, row.b),
                          MakeBytesCell(arena, row.text),
                          MakeCell<int32_t>(arena, row.tokens, Shape{width}),
                          MakeCell<uint8_t>(arena, pixels, Shape{2, width, 3}),
                          MakeCell<int8_t>(arena, any, Shape{3}),
                          MakeBytesCell(arena, "ann"),
                          MakeScalarCell<int64_t>(arena, 9)};
    block.AppendRow({RunOf({.index = n})}, cells);
  }
  return block;
}

struct Answer {
  std::vector<int> holds;
  std::map<size_t, std::string> failures;
};

Answer Ask(std::string_view text, const std::vector<Row>& rows) {
  const auto condition = Condition::Compile(text, TestSchema());
  EXPECT_TRUE(condition.ok()) << condition.status();
  if (!condition.ok()) return {};
  std::vector<uint8_t> holds;
  Answer answer;
  condition->Evaluate(Rows(rows), holds, [&](size_t row, absl::Status why) {
    EXPECT_EQ(answer.failures.count(row), 0u);
    answer.failures[row] = std::string(why.message());
  });
  answer.holds.assign(holds.begin(), holds.end());
  return answer;
}

// For one row.
bool Holds(std::string_view text, const Row& row = {}) {
  const Answer answer = Ask(text, {row});
  EXPECT_TRUE(answer.failures.empty()) << answer.failures.begin()->second;
  return !answer.holds.empty() && answer.holds[0] != 0;
}

std::string ErrorOf(std::string_view text) {
  const auto condition = Condition::Compile(text, TestSchema());
  EXPECT_FALSE(condition.ok()) << text;
  EXPECT_EQ(condition.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(condition.status().message());
}

TEST(ConditionTest, TheExampleOfTheDocsKeepsTheRightRows) {
  const std::vector<Row> rows{{.i = 3, .text = "a text that is long"},
                              {.i = 4, .text = "short"},
                              {.i = 5, .text = "long enough"}};
  EXPECT_THAT(Ask("i != 3 && length(text) > 10", rows).holds, ElementsAre(0, 0, 1));
  EXPECT_THAT(Ask("i == 3 or not length(text) > 10", rows).holds, ElementsAre(1, 1, 0));
  EXPECT_TRUE(Ask("i != 3", {}).holds.empty());
}

TEST(ConditionTest, OperatorsBindAsInPython) {
  EXPECT_TRUE(Holds("1 + 2 * 3 == 7"));
  EXPECT_TRUE(Holds("(1 + 2) * 3 == 9"));
  EXPECT_TRUE(Holds("10 - 3 - 2 == 5"));
  EXPECT_TRUE(Holds("true || false && false"));
  EXPECT_TRUE(Holds("not 1 == 2"));
  EXPECT_TRUE(Holds("!false && !(1 > 2)"));
  EXPECT_TRUE(Holds("false == !true"));
  EXPECT_TRUE(Holds("-2 * -3 == 6 && - -2 == 2 && -(2) < 0"));
  EXPECT_TRUE(Holds("1 < 2 and 2 <= 2 and 3 > 2 and 3 >= 3 and 3 != 4"));
}

TEST(ConditionTest, NumbersFollowPython) {
  EXPECT_TRUE(Holds("7 / 2 == 3.5"));
  EXPECT_TRUE(Holds("-7 % 3 == 2 && 7 % -3 == -2 && 6 % 3 == 0 && 7 % 3 == 1"));
  EXPECT_TRUE(Holds("-7.5 % 2 == 0.5 && 7.5 % -2 == -0.5"));
  EXPECT_TRUE(Holds("i % -1 == 0", {.i = kMin}));
  EXPECT_TRUE(Holds("1 == 1.0 && i < 1.5", {.i = 1}));
  EXPECT_TRUE(Holds("1e3 == 1000 && .5 == 0.5 && 2. == 2"));
  EXPECT_TRUE(Holds("h == 0.5 && f == -1.5", {.f = -1.5f}));
  EXPECT_TRUE(Holds("i == -9223372036854775808", {.i = kMin}));
  EXPECT_TRUE(Holds("small == 255", {.i = -1}));
  EXPECT_TRUE(Holds("1 / 0 > 1e308 && -1 / 0 < -1e308"));
}

TEST(ConditionTest, NanIsUnequalToAllAndBelowNothing) {
  const Row nan{.f = NAN};
  EXPECT_TRUE(Holds("f != f && !(f == f) && !(f < 1) && !(f >= 1)", nan));
  EXPECT_TRUE(Holds("min(f, 1) != min(f, 1) && max(1, f, 2) != max(1, f, 2)", nan));
  EXPECT_TRUE(Holds("0.0 / 0 != 0.0 / 0"));
}

TEST(ConditionTest, TextIsComparedByItsBytes) {
  const Row row{.text = std::string("caf\xc3\xa9\0!", 7)};
  EXPECT_TRUE(Holds(R"(text == 'caf\xc3\xa9\0!' && text != "caf" && text > 'caf')", row));
  EXPECT_TRUE(
      Holds(R"(contains(text, "\0") && starts_with(text, 'ca') && ends_with(text, '!'))", row));
  EXPECT_TRUE(Holds("not contains(text, 'CAF') && contains(text, '') && length(text) == 7", row));
  EXPECT_TRUE(Holds(R"('it\'s' == "it's" && 'a\nb' != 'a\\nb')"));
  EXPECT_TRUE(Holds("starts_with(text, `user.name`) && user.name == 'ann' && `a-b c` == 9",
                    {.text = "annette"}));
}

TEST(ConditionTest, MatchesSearchesAndAnchorsOnRequest) {
  const Row row{.text = "file-0042.jpg"};
  EXPECT_TRUE(Holds(
      R"(matches(text, '\d{4}') && !matches(text, '^\d') && matches(text, '\.jpe?g$'))", row));
  EXPECT_TRUE(Holds("matches(text, '(?i)FILE')", row));
  EXPECT_TRUE(Holds("matches(text, '')", row));
}

TEST(ConditionTest, ShapesAreLookedAtWithoutTheirItems) {
  const Row row{.tokens = {1, 2, 3, 4}};
  EXPECT_TRUE(
      Holds("length(tokens) == 4 && shape(tokens, 0) == 4 && shape(image, 1) == 4 && shape(image, "
            "2) == 3",
            row));
  EXPECT_TRUE(Holds("length(image) == 2 && length(any) == 3"));
  EXPECT_TRUE(Holds("length(tokens) == 0"));
}

TEST(ConditionTest, MinMaxAbsTakeNumbers) {
  EXPECT_TRUE(Holds("min(3, 1, 2) == 1 && max(3, 1.5) == 3 && abs(-4) == 4 && abs(-0.5) == 0.5"));
  EXPECT_TRUE(Holds("max(length(text), i) == 5", {.i = 5, .text = "abc"}));
}

TEST(ConditionTest, OnlyRowsWithoutAValueFail) {
  const std::vector<Row> rows{
      {.i = 0}, {.i = 2}, {.i = std::numeric_limits<int64_t>::max()}, {.i = kMin}};
  const Answer modulo = Ask("10 % i == 0", rows);
  EXPECT_THAT(modulo.holds, ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(modulo.failures,
              ElementsAre(testing::Pair(0, "10 % 0 has no result (character 4 of the condition)")));
  const Answer sum = Ask("i + 1 > 0", rows);
  EXPECT_THAT(sum.failures,
              ElementsAre(testing::Pair(
                  2, "9223372036854775807 + 1 does not fit int64 (character 3 of the condition)")));
  EXPECT_EQ(Ask("-i > 0", rows).failures.count(3), 1u);
  EXPECT_EQ(Ask("abs(i) > 0", rows).failures.size(), 1u);
  EXPECT_EQ(Ask("i * i > 0 || i + i > 0", rows).failures.size(), 2u);
  const Answer big = Ask("u > 5", {{.u = 6}, {.u = std::numeric_limits<uint64_t>::max()}});
  EXPECT_THAT(big.holds, ElementsAre(1, 0));
  EXPECT_EQ(big.failures.at(1), "u is 18446744073709551615, which is beyond int64");
  EXPECT_THAT(Ask("shape(any, 4) == 1", {{}}).failures.at(0),
              HasSubstr("any is [3]; it has no dimension 4"));
}

TEST(ConditionTest, WhatTheLeftSideDecidesTheRightSideCannotFail) {
  const std::vector<Row> rows{{.i = 0}, {.i = 5}, {.i = 3}};
  const Answer both = Ask("i != 0 && 10 % i == 0", rows);
  EXPECT_THAT(both.holds, ElementsAre(0, 1, 0));
  EXPECT_TRUE(both.failures.empty());
  const Answer either = Ask("i == 0 || 10 % i == 0", rows);
  EXPECT_THAT(either.holds, ElementsAre(1, 1, 0));
  EXPECT_TRUE(either.failures.empty());
  EXPECT_THAT(Ask("10 % i == 0 || true", rows).holds,
              ElementsAre(0, 1, 1));  // the first fails, however it goes on
}

TEST(ConditionTest, ErrorsSayWhereAndWhat) {
  EXPECT_EQ(ErrorOf("i = 3"), "character 3 of 'i = 3': write == to compare");
  EXPECT_EQ(ErrorOf("i == 3 & b"), "character 8 of 'i == 3 & b': write &&");
  EXPECT_EQ(ErrorOf(""), "character 1 of '': the condition is empty");
  EXPECT_EQ(ErrorOf("i =="), "character 5 of 'i ==': expected a value, found the end");
  EXPECT_EQ(ErrorOf("(i == 3"), "character 8 of '(i == 3': expected ')', found the end");
  EXPECT_EQ(ErrorOf("i == 3)"), "character 7 of 'i == 3)': expected an operator, found ')'");
  EXPECT_THAT(ErrorOf("1 < i < 3"), HasSubstr("comparisons do not chain; write a < b && b < c"));
  EXPECT_THAT(ErrorOf("text == 'abc"),
              HasSubstr("character 9 of 'text == 'abc': the ' is not closed"));
  EXPECT_THAT(ErrorOf("i == 12ab"), HasSubstr("a number runs into a name"));
  EXPECT_THAT(ErrorOf("f > 1e"), HasSubstr("a number without its exponent"));
  EXPECT_THAT(ErrorOf("i == 9223372036854775808"),
              HasSubstr("9223372036854775808 does not fit int64"));
  EXPECT_THAT(ErrorOf("text == '\\xg0'"), HasSubstr("\\x needs two hexadecimal digits"));
  EXPECT_THAT(ErrorOf("i == \xc3\xa9"), HasSubstr("this character means nothing here"));
  EXPECT_THAT(ErrorOf("i @ 3"), StartsWith("character 3 of"));
}

TEST(ConditionTest, WrongTypesAndNamesAreErrors) {
  EXPECT_THAT(ErrorOf("labl == 3"), StartsWith("character 1 of 'labl == 3': no field 'labl'"));
  EXPECT_THAT(ErrorOf("txt == 'a'"), HasSubstr("did you mean 'text'?"));
  EXPECT_EQ(ErrorOf("i"), "character 1 of 'i': the whole is int64; a condition is true or false");
  EXPECT_EQ(ErrorOf("i && b"), "character 1 of 'i && b': expected true or false, found int64");
  EXPECT_EQ(ErrorOf("text == 3"), "character 6 of 'text == 3': text cannot be compared with int64");
  EXPECT_EQ(ErrorOf("b == 1"), "character 3 of 'b == 1': bool cannot be compared with int64");
  EXPECT_THAT(ErrorOf("b < true"), HasSubstr("true and false have no order"));
  EXPECT_THAT(ErrorOf("text + 1 == 2"), HasSubstr("expected a number, found text"));
  EXPECT_THAT(ErrorOf("-b == 2"), HasSubstr("expected a number, found bool"));
  EXPECT_THAT(ErrorOf("tokens == 3"),
              HasSubstr("field 'tokens' is int32 [?]; only single values are compared "
                        "(length(tokens) and shape(tokens, i)"));
  EXPECT_THAT(ErrorOf("any == 3"), HasSubstr("field 'any' is int8 [...]"));
}

TEST(ConditionTest, WrongCallsAreErrors) {
  EXPECT_THAT(ErrorOf("lenght(text) > 3"),
              HasSubstr("no function 'lenght'; did you mean 'length'?"));
  EXPECT_THAT(ErrorOf("xyzzy(text)"), HasSubstr("known: abs, contains"));
  EXPECT_THAT(ErrorOf("length(text, 1) > 3"), HasSubstr("2 arguments; write length(field)"));
  EXPECT_THAT(ErrorOf("length() > 3"), HasSubstr("0 arguments; write length(field)"));
  EXPECT_THAT(ErrorOf("length('abc') > 3"), HasSubstr("length takes the name of a field"));
  EXPECT_THAT(ErrorOf("length(i) > 3"), HasSubstr("field 'i' is one int64; it has no length"));
  EXPECT_THAT(ErrorOf("shape(image, 3) > 3"),
              HasSubstr("field 'image' is [?, ?, 3]; it has no dimension 3"));
  EXPECT_THAT(ErrorOf("shape(image, i) > 3"), HasSubstr("shape takes a dimension from 0 to 5"));
  EXPECT_THAT(ErrorOf("contains(i, 'a')"), HasSubstr("expected text, found int64"));
  EXPECT_THAT(ErrorOf("matches(text, text)"), HasSubstr("matches takes its pattern as 'text'"));
  EXPECT_THAT(ErrorOf("matches(text, '(')"),
              HasSubstr("the regular expression '(' is wrong: missing )"));
  EXPECT_THAT(ErrorOf("min(1) > 3"), HasSubstr("1 arguments; write min(a, b)"));
  EXPECT_THAT(ErrorOf("abs(text) > 3"), HasSubstr("expected a number, found text"));
}

TEST(ConditionTest, DeepAndLongTextsEndInAnErrorNotInACrash) {
  EXPECT_THAT(ErrorOf(std::string(10'000, '(')), HasSubstr("nested deeper than 100"));
  EXPECT_THAT(ErrorOf(std::string(10'000, '!')), HasSubstr("nested deeper than 100"));
  EXPECT_THAT(ErrorOf(std::string(100'000, ' ')), HasSubstr("at most 65536 are taken"));
  std::string chain = "b";
  for (int i = 0; i < 300; ++i) chain += " || b";
  EXPECT_TRUE(Holds(chain, {.b = true}));
  for (int i = 0; i < 3000; ++i) chain += " || b";
  EXPECT_THAT(ErrorOf(chain), HasSubstr("more than 1000 parts"));
}

}  // namespace
}  // namespace headrace
