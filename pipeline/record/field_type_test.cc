#include "pipeline/record/field_type.h"

#include "fmt/core.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace {
namespace {

using testing::HasSubstr;

TEST(FieldTypeTest, EachSpellingHasItsTypeAndShape) {
  const std::vector<std::pair<const char*, std::string>> spellings = {
      {"bytes", "bytes []"},
      {"int64[]", "int64 [?]"},
      {"float32[4]", "float32 [4]"},
      {"uint8[2, 3]", "uint8 [2, 3]"},
      {" float32 [ ?,3 ] ", "float32 [?, 3]"},
      {"bool=true", "bool []"}};
  for (const auto& [text, expected] : spellings) {
    const auto type = ParseFieldType(text);
    ASSERT_TRUE(type.ok()) << type.status();
    EXPECT_EQ(fmt::format("{} {}", Name(type->dtype), type->shape.ToString()), expected);
  }
  EXPECT_EQ(ParseFieldType("int64[]")->ToString(), "int64[]");
  EXPECT_EQ(ParseFieldType("int64=5")->ToString(), "int64");
  EXPECT_EQ(ParseFieldType("int64[?,2]")->ToString(), "int64[?, 2]");
}

TEST(FieldTypeTest, AWrongSpellingIsQuotedAndExplained) {
  const std::vector<std::pair<const char*, const char*>> wrong = {
      {"int", "unknown dtype 'int'"},
      {"", "unknown dtype ''"},
      {"int64[", "the '[' is not closed"},
      {"int64]", "unknown dtype 'int64]'"},
      {"int64[0]", "dimension '0' is no positive integer"},
      {"int64[-1]", "dimension '-1' is no positive integer"},
      {"int64[2,]", "dimension '' is no positive integer"},
      {"int64[2,?]", "only the first dimension may be ?"},
      {"int64[1,1,1,1,1,1,1]", "7 dimensions; at most 6"},
      {"int64[4000000000,4000000000]", "more than"},
      {"int64=x", "the default 'x' is no int64"},
      {"uint8=256", "the default '256' is no uint8"},
      {"int64[]=0", "the default of a list is the empty list"}};
  for (const auto& [text, expected] : wrong) {
    const auto type = ParseFieldType(text);
    ASSERT_FALSE(type.ok()) << text;
    EXPECT_EQ(type.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(type.status().message()), HasSubstr(expected));
    EXPECT_THAT(std::string(type.status().message()), HasSubstr(fmt::format("type '{}'", text)));
  }
}

TEST(FieldTypeTest, ADefaultFillsEachItem) {
  Arena arena;
  const Cell floats = DefaultCell(*ParseFieldType("float32[2, 2]=0.5"), arena);
  EXPECT_EQ(floats.shape, (Shape{2, 2}));
  EXPECT_THAT(floats.as<float>(), testing::Each(0.5f));
  EXPECT_EQ(floats.as<float>().size(), 4u);
  EXPECT_EQ(DefaultCell(*ParseFieldType("int64[]="), arena).shape, Shape{0});
  EXPECT_EQ(DefaultCell(*ParseFieldType("bytes= a=b"), arena).string(), " a=b");
  EXPECT_EQ(DefaultCell(*ParseFieldType("bytes="), arena).string(), "");
  const Cell words = DefaultCell(*ParseFieldType("bytes[2]=xy"), arena);
  EXPECT_EQ(words.string(0), "xy");
  EXPECT_EQ(words.string(1), "xy");
  EXPECT_EQ(DefaultCell(*ParseFieldType("bytes[]="), arena).shape, Shape{0});
}

TEST(FieldTypeTest, ACountFitsAShapeOrIsExplained) {
  EXPECT_EQ(*ShapeOfValues(*ParseFieldType("int64"), 1), Shape());
  EXPECT_EQ(*ShapeOfValues(*ParseFieldType("int64[]"), 0), Shape{0});
  EXPECT_EQ(*ShapeOfValues(*ParseFieldType("int64[2,3]"), 6), (Shape{2, 3}));
  EXPECT_EQ(*ShapeOfValues(*ParseFieldType("int64[?,3]"), 9), (Shape{3, 3}));
  EXPECT_EQ(ShapeOfValues(*ParseFieldType("int64"), 3).status().message(),
            "has 3 values; int64 takes one (write int64[] for a list)");
  EXPECT_EQ(ShapeOfValues(*ParseFieldType("int64[4]"), 3).status().message(),
            "has 3 values; int64[4] takes 4");
  EXPECT_EQ(ShapeOfValues(*ParseFieldType("int64[?,2]"), 3).status().message(),
            "has 3 values; int64[?, 2] takes a multiple of 2");
}

}  // namespace
}  // namespace headrace
