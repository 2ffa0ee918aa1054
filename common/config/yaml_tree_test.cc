#include "common/config/yaml_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status.h"

namespace headrace {
namespace {

using ::testing::HasSubstr;

std::string Error(const std::string& yaml) {
  const absl::StatusOr<YamlNode> tree = ParseYaml("a.yaml", yaml);
  return tree.ok() ? "OK" : OneLine(tree.status());
}

TEST(YamlTreeTest, LinesCountFromOne) {
  const YamlNode tree = ParseYaml("a.yaml", "# comment\na: 1\nb:\n  c: [x, y]\n").value();
  ASSERT_EQ(tree.entries.size(), 2u);
  EXPECT_EQ(tree.entries[0].line, 2);
  EXPECT_EQ(tree.entries[1].line, 3);
  EXPECT_EQ(tree.entries[1].value.entries[0].line, 4);
  EXPECT_THAT(tree.entries[1].value.entries[0].value.text.items, testing::ElementsAre("x", "y"));
}

TEST(YamlTreeTest, DamageIsNamedWithItsLine) {
  EXPECT_THAT(Error("a: 1\nb: [1, 2\n"), HasSubstr("a.yaml:3: "));
  EXPECT_THAT(Error("a: 1\nb: 2\na: 3\n"),
              HasSubstr("a.yaml:3: 'a' is given twice, first in line 1"));
  EXPECT_THAT(Error("a: 1\n---\nb: 2\n"), HasSubstr("a second document"));
  EXPECT_THAT(Error("a: [[1]]\n"), HasSubstr("a.yaml:1: expected text in the list"));
  EXPECT_THAT(Error("[a]: 1\n"), HasSubstr("a key must be a word"));
  EXPECT_THAT(Error("\ta: 1\n"), HasSubstr("a.yaml:1: "));
}

TEST(YamlTreeTest, DepthAndGrowthAreBounded) {
  std::string deep;
  for (int i = 0; i < 40; ++i) deep += std::string(i, ' ') + "a:\n";
  deep += std::string(40, ' ') + "a: 1\n";
  EXPECT_THAT(Error(deep), HasSubstr("32 levels"));
  EXPECT_NE(Error(std::string(100'000, '[')), "OK");
  std::string laughs = "a0: &a0 {x: 1, y: 2}\n";
  for (int i = 1; i < 25; ++i) {
    laughs += fmt::format("a{}: &a{} {{x: *a{}, y: *a{}}}\n", i, i, i - 1, i - 1);
  }
  EXPECT_THAT(Error(laughs), HasSubstr("100,000 values"));
}

TEST(YamlTreeTest, AnyScalarSurvivesBeingWritten) {
  for (const std::string& text : {std::string("plain"),    std::string("a:b"),
                                  std::string("a: b"),     std::string("a:"),
                                  std::string(""),         std::string("null"),
                                  std::string("~"),        std::string("#x"),
                                  std::string("x #y"),     std::string("\"q\" \\ \x01 \n"),
                                  std::string("\xc3\xa9"), std::string("- x"),
                                  std::string("-5"),       std::string("1.5"),
                                  std::string("[x]"),      std::string("*a"),
                                  std::string("&a"),       std::string("!t"),
                                  std::string("%x"),       std::string("@x"),
                                  std::string("`x"),       std::string(" lead"),
                                  std::string("trail ")}) {
    const absl::StatusOr<YamlNode> tree = ParseYaml("a.yaml", "k: " + YamlScalar(text) + "\n");
    ASSERT_TRUE(tree.ok()) << text << ": " << OneLine(tree.status());
    EXPECT_EQ(tree->entries[0].value.text.kind, ConfigText::Kind::kScalar) << text;
    EXPECT_EQ(tree->entries[0].value.text.items[0], text);
  }
}

}  // namespace
}  // namespace headrace
