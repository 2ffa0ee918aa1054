#include "common/sync/retry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/fake_clock.h"

namespace headrace {
namespace {

class RetryTest : public ::testing::Test {
 protected:
  RetryOptions Options() {
    return {.what = "list bucket",
            .backoff = {},
            .seed = 1,
            .give_up_after = absl::Seconds(10),
            .clock = clock_,
            .wait = [this](absl::Duration d) {
              clock_.Advance(d);
              return false;
            }};
  }
  FakeClock clock_;
  CancellationSource source_;
};

TEST_F(RetryTest, TriesUntilItWorksAndLogsTheFirstRetryOnly) {
  testing::internal::CaptureStderr();
  int calls = 0;
  const absl::StatusOr<int> answer =
      RetryTransient(Options(), source_.token(), [&]() -> absl::StatusOr<int> {
        if (++calls < 4) return Unavailable("connection refused");
        return 7;
      });
  EXPECT_EQ(answer.value(), 7);
  EXPECT_EQ(calls, 4);
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1);
  EXPECT_THAT(log, testing::HasSubstr("list bucket: UNAVAILABLE: connection refused"));
}

TEST_F(RetryTest, AnErrorForGoodIsReturnedAtOnce) {
  int calls = 0;
  EXPECT_EQ(RetryTransient(Options(), source_.token(),
                           [&] {
                             ++calls;
                             return NotFound("no such bucket");
                           }),
            NotFound("no such bucket"));
  EXPECT_EQ(calls, 1);
}

TEST_F(RetryTest, GivesUpWithTheLastErrorWhenTheTimeIsOver) {
  const absl::Duration start = clock_.Steady();
  int calls = 0;
  const absl::Status status =
      RetryTransient(Options(), source_.token(), [&] { return Unavailable("try {}", ++calls); });
  EXPECT_EQ(status, Unavailable("try {}", calls));
  EXPECT_GT(calls, 3);
  EXPECT_LE(clock_.Steady() - start, absl::Seconds(10));
}

TEST_F(RetryTest, CancellationEndsTheWait) {
  RetryOptions options{.what = "list bucket", .give_up_after = absl::Hours(2)};
  options.backoff.initial = options.backoff.max = absl::Hours(1);
  source_.Cancel();
  int calls = 0;
  EXPECT_FALSE(RetryTransient(options, source_.token(), [&] {
                 ++calls;
                 return Unavailable("down");
               }).ok());
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace headrace
