#include "rpc/retry.h"

#include <gtest/gtest.h>

#include <vector>

#include "common/fake_clock.h"

namespace headrace {
namespace {

class RetryTest : public testing::Test {
 protected:
  RetryTools Tools() {
    return {clock_,
            [this](absl::Duration wait) {
              waits_.push_back(wait);
              clock_.Advance(wait);
              return !stop_;
            },
            [] { return 0.0; }};
  }

  FakeClock clock_;
  std::vector<absl::Duration> waits_;
  bool stop_ = false;
  int calls_ = 0;
};

TEST_F(RetryTest, APassingErrorIsTriedAgainWithGrowingWaits) {
  const absl::Status status = WithRetries({}, Tools(), absl::Minutes(1), [this] {
    return ++calls_ < 4 ? Unavailable("down") : absl::OkStatus();
  });
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(waits_, (std::vector<absl::Duration>{absl::Milliseconds(50), absl::Milliseconds(100),
                                                 absl::Milliseconds(200)}));
}

TEST_F(RetryTest, APermanentErrorIsReturnedAtOnce) {
  const absl::StatusOr<int> answer = WithRetries({}, Tools(), absl::Minutes(1), [this] {
    ++calls_;
    return absl::StatusOr<int>(InvalidArgument("no"));
  });
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(calls_, 1);
}

TEST_F(RetryTest, ItGivesUpInTime) {
  const absl::Duration start = clock_.Steady();
  const absl::Status status =
      WithRetries({}, Tools(), absl::Seconds(10), [] { return Unavailable("down"); });
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_LE(clock_.Steady() - start, absl::Seconds(10));
  EXPECT_GT(clock_.Steady() - start, absl::Seconds(7));
}

TEST_F(RetryTest, ShutdownCutsTheWait) {
  stop_ = true;
  (void)WithRetries({}, Tools(), absl::Minutes(1), [this] {
    ++calls_;
    return Unavailable("down");
  });
  EXPECT_EQ(calls_, 1);
}

}  // namespace
}  // namespace headrace
