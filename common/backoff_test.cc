#include "common/backoff.h"

#include <gtest/gtest.h>

#include <vector>

namespace headrace {
namespace {

std::vector<absl::Duration> Waits(Backoff backoff, int n) {
  std::vector<absl::Duration> waits;
  for (int i = 0; i < n; ++i) waits.push_back(backoff.Next());
  return waits;
}

TEST(BackoffTest, GrowsFromInitialToMax) {
  const BackoffPolicy policy{
      .initial = absl::Seconds(1), .max = absl::Seconds(5), .multiplier = 2, .jitter = 0};
  const std::vector<absl::Duration> expected = {
      absl::Seconds(1), absl::Seconds(2), absl::Seconds(4), absl::Seconds(5), absl::Seconds(5)};
  EXPECT_EQ(Waits(Backoff(policy, 1), 5), expected);
}

TEST(BackoffTest, JitterStaysInItsBandAndSpreads) {
  const BackoffPolicy policy{
      .initial = absl::Seconds(1), .max = absl::Seconds(1), .multiplier = 1, .jitter = 0.5};
  absl::Duration least = absl::Hours(1), most = absl::ZeroDuration();
  for (const absl::Duration wait : Waits(Backoff(policy, 7), 1000)) {
    least = std::min(least, wait);
    most = std::max(most, wait);
  }
  EXPECT_GE(least, absl::Milliseconds(500));
  EXPECT_LT(least, absl::Milliseconds(510));
  EXPECT_LE(most, absl::Seconds(1));
  EXPECT_GT(most, absl::Milliseconds(990));
}

TEST(BackoffTest, TheSeedDecidesTheWaits) {
  EXPECT_EQ(Waits(Backoff({}, 3), 5), Waits(Backoff({}, 3), 5));
  EXPECT_NE(Waits(Backoff({}, 3), 5), Waits(Backoff({}, 4), 5));
}

TEST(BackoffTest, ResetStartsAgain) {
  Backoff backoff(
      {.initial = absl::Seconds(1), .max = absl::Hours(1), .multiplier = 2, .jitter = 0}, 1);
  backoff.Next();
  backoff.Next();
  backoff.Reset();
  EXPECT_EQ(backoff.Next(), absl::Seconds(1));
}

}  // namespace
}  // namespace headrace
