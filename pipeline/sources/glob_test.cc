#include "pipeline/sources/glob.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> Expand(std::string_view pattern) { return *ExpandBraces(pattern); }

TEST(GlobTest, BracesStandForSeveralPatterns) {
  EXPECT_THAT(Expand("a{b,c}d"), ElementsAre("abd", "acd"));
  EXPECT_THAT(Expand("x{1,{2,3}}{a,b}"), ElementsAre("x1a", "x1b", "x2a", "x2b", "x3a", "x3b"));
  EXPECT_THAT(Expand("{,x}"), ElementsAre("", "x"));
}

TEST(GlobTest, RangesKeepTheirZeros) {
  EXPECT_THAT(Expand("s-{008..011}.tar"),
              ElementsAre("s-008.tar", "s-009.tar", "s-010.tar", "s-011.tar"));
  EXPECT_THAT(Expand("{2..0}"), ElementsAre("2", "1", "0"));
  EXPECT_THAT(Expand("{0..9..4}"), ElementsAre("0", "4", "8"));
}

TEST(GlobTest, OtherBracesArePlainText) {
  EXPECT_THAT(Expand("{a}"), ElementsAre("{a}"));
  EXPECT_THAT(Expand("a{b"), ElementsAre("a{b"));
  EXPECT_THAT(Expand("a}b"), ElementsAre("a}b"));
  EXPECT_THAT(Expand("{a..b}"), ElementsAre("{a..b}"));
  EXPECT_THAT(Expand("\\{a,b}"), ElementsAre("\\{a,b}"));
  EXPECT_THAT(Expand("{x}{1,2}"), ElementsAre("{x}1", "{x}2"));
}

TEST(GlobTest, TooManyPatternsAreRefused) {
  EXPECT_EQ(ExpandBraces("{0..9999}{0..9999}").status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_FALSE(ExpandBraces(std::string(100'000, '{')).ok());
}

TEST(GlobTest, IgnoredNamesMatchOnlyWhenSpelledOut) {
  EXPECT_FALSE(MatchesComponent("*", "_SUCCESS"));
  EXPECT_FALSE(MatchesComponent("*", ".hidden"));
  EXPECT_TRUE(MatchesComponent("_*", "_SUCCESS"));
  EXPECT_TRUE(MatchesComponent("[ab]?", "b1"));
}

TEST(GlobTest, FixedDirectoryEndsAtTheFirstWildcard) {
  EXPECT_EQ(FixedDirectory("/data/train/*/x.jpg"), "/data/train");
  EXPECT_EQ(FixedDirectory("/data/train"), "/data/train");
  EXPECT_EQ(FixedDirectory("/*"), "/");
  EXPECT_EQ(CommonDirectory("/a/bc", "/a/bd"), "/a");
  EXPECT_EQ(CommonDirectory("/a/b", "/a/b/c"), "/a/b");
}

}  // namespace
}  // namespace headrace
