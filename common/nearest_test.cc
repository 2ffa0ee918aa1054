#include "common/nearest.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

const std::vector<std::string> kWords = {"listen", "limit", "memory_limit"};

TEST(NearestWordTest, FindsATypo) {
  EXPECT_EQ(NearestWord("lisen", kWords), "listen");
  EXPECT_EQ(NearestWord("memory_limits", kWords), "memory_limit");
}

TEST(NearestWordTest, SaysNothingRatherThanGuessWildly) {
  EXPECT_EQ(NearestWord("dispatcher", kWords), "");
  EXPECT_EQ(NearestWord("x", {}), "");
}

}  // namespace
}  // namespace headrace
