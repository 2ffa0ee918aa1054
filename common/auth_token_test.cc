#include "common/auth_token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "common/status.h"

namespace headrace {
namespace {

class BearerTokenTest : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  absl::StatusOr<BearerToken> Load(const std::string& content) {
    std::ofstream(path_, std::ios::binary) << content;
    return BearerToken::Load(path_);
  }
  const std::string path_ = testing::TempDir() + "/auth_token_test";
};

TEST_F(BearerTokenTest, TheRightTokenMatchesAndNothingElse) {
  const BearerToken token = Load("0123456789abcdef\n").value();
  EXPECT_EQ(token.HeaderValue(), "Bearer 0123456789abcdef");
  EXPECT_TRUE(token.Matches("Bearer 0123456789abcdef"));
  EXPECT_TRUE(token.Matches("bearer 0123456789abcdef"));
  for (const char* wrong : {"", "Bearer", "Bearer ", "0123456789abcdef", "Basic 0123456789abcdef",
                            "Bearer 0123456789abcdeX", "Bearer 0123456789abcde",
                            "Bearer 0123456789abcdef ", "Bearer 0123456789abcdef0"}) {
    EXPECT_FALSE(token.Matches(wrong)) << wrong;
  }
}

TEST_F(BearerTokenTest, AFileThatHoldsNoTokenIsNamedButNotQuoted) {
  for (const std::string& content :
       {std::string(), std::string("hunter2"), std::string("hunter2 hunter2 hunter2"),
        "hunter2" + std::string(5000, 'x'), std::string("hunter2\nhunter2\nhunter2\n")}) {
    const absl::Status status = Load(content).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(OneLine(status), testing::HasSubstr(path_));
    EXPECT_THAT(OneLine(status), testing::Not(testing::HasSubstr("hunter2")));
  }
  EXPECT_TRUE(Load(std::string(4096, 'x') + "\r\n").ok());
  EXPECT_EQ(BearerToken::Load("/nonexistent/token").status().code(), absl::StatusCode::kNotFound);
}

TEST(ConstantTimeEqualsTest, ComparesAllBytes) {
  EXPECT_TRUE(ConstantTimeEquals("", ""));
  EXPECT_TRUE(ConstantTimeEquals("abc", "abc"));
  EXPECT_FALSE(ConstantTimeEquals("abc", "abd"));
  EXPECT_FALSE(ConstantTimeEquals("abc", "ab"));
}

}  // namespace
}  // namespace headrace
