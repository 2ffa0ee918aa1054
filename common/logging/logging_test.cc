#include "common/logging/logging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "common/fake_clock.h"

namespace headrace {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

class LoggingTest : public ::testing::Test {
 protected:
  void TearDown() override { ASSERT_TRUE(InitLogging({}).ok()); }

  template <typename F>
  std::string Captured(F&& f) {
    testing::internal::CaptureStderr();
    f();
    return testing::internal::GetCapturedStderr();
  }
};

TEST_F(LoggingTest, ALineHasTimeLevelRoleAndMessage) {
  ASSERT_TRUE(InitLogging({.level = "info", .format = "text", .role = "worker"}).ok());
  const std::string out = Captured([] { LogInfo("leased {} splits to worker {}", 3, "w1"); });
  EXPECT_THAT(out, ::testing::MatchesRegex(
                       "20..-..-..T..:..:..\\....Z info worker: leased 3 splits to worker w1\n"));
}

TEST_F(LoggingTest, LinesBelowTheLevelAreNotWritten) {
  ASSERT_TRUE(InitLogging({.level = "warning"}).ok());
  const std::string out = Captured([] {
    LogDebug("a");
    LogInfo("b");
    LogWarning("c");
    LogError("d");
  });
  EXPECT_THAT(out, Not(HasSubstr("info")));
  EXPECT_THAT(out, HasSubstr("warning c"));
  EXPECT_THAT(out, HasSubstr("error d"));
  EXPECT_FALSE(LogEnabled(LogLevel::kInfo));
}

TEST_F(LoggingTest, AMessageCannotForgeASecondLine) {
  const std::string out = Captured([] { LogInfo("path {}", "a\n2026 error b\x1b[31m"); });
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 1);
  EXPECT_THAT(out, EndsWith("path a\\n2026 error b\\x1b[31m\n"));
}

TEST_F(LoggingTest, JsonLinesParseWhateverTheMessageHolds) {
  ASSERT_TRUE(InitLogging({.level = "info", .format = "json", .role = "dispatcher"}).ok());
  const std::string out =
      Captured([] { LogWarning("quote \" slash \\ newline \n bad utf-8 {}", "\xff\xfe"); });
  const nlohmann::json line = nlohmann::json::parse(out);
  EXPECT_EQ(line["level"], "warning");
  EXPECT_EQ(line["role"], "dispatcher");
  EXPECT_THAT(line["message"].get<std::string>(), HasSubstr("quote \" slash \\ newline \n bad"));
}

TEST_F(LoggingTest, WrongSettingsAreRefusedByName) {
  EXPECT_THAT(std::string(InitLogging({.level = "loud"}).message()), HasSubstr("'loud'"));
  EXPECT_THAT(std::string(InitLogging({.format = "xml"}).message()), HasSubstr("'xml'"));
}

TEST_F(LoggingTest, ALimiterSaysTheFirstThenOnePerPeriodWithACount) {
  FakeClock clock;
  LogLimiter limiter(absl::Seconds(10), clock);
  const std::string out = Captured([&] {
    for (int i = 0; i < 5; ++i) LogLimited(limiter, LogLevel::kWarning, "slow {}", i);
    clock.Advance(absl::Seconds(10));
    LogLimited(limiter, LogLevel::kWarning, "slow {}", 5);
    clock.Advance(absl::Seconds(10));
    LogLimited(limiter, LogLevel::kWarning, "slow {}", 6);
  });
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 3);
  EXPECT_THAT(out, HasSubstr("slow 0\n"));
  EXPECT_THAT(out, HasSubstr("slow 5 (4 more since the last such line)\n"));
  EXPECT_THAT(out, HasSubstr("slow 6\n"));
}

TEST_F(LoggingTest, LinesOfManyThreadsStayWhole) {
  const std::string out = Captured([] {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([t] {
        for (int i = 0; i < 100; ++i) LogInfo("thread {} line {} end", t, i);
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 400);
  size_t ends = 0;
  for (size_t at = out.find(" end\n"); at != std::string::npos; at = out.find(" end\n", at + 1))
    ++ends;
  EXPECT_EQ(ends, 400u);
}

TEST_F(LoggingTest, AnOverlongMessageIsCut) {
  const std::string out = Captured([] { LogInfo("{}", std::string(100'000, 'x')); });
  EXPECT_LT(out.size(), 17'000u);
  EXPECT_THAT(out, EndsWith("... (cut)\n"));
}

}  // namespace
}  // namespace headrace
