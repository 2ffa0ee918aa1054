#include "orchestrator/timeline/timeline.h"

#include "fmt/format.h"
#include "gtest/gtest.h"

namespace headrace::orchestrate {
namespace {

class TimelineTest : public ::testing::Test {
 protected:
  void Add(Verb verb, const std::string& reason, absl::Duration at, double amount = 0) {
    timeline_.Add({"autoscale", {.verb = verb, .amount = amount}, reason, {{"need", 2.5}}},
                  absl::UnixEpoch() + at);
  }
  Metrics metrics_;
  Timeline timeline_{metrics_};
};

TEST_F(TimelineTest, AHoldIsKeptOnceUntilItsReasonIsAnother) {
  for (int i = 0; i < 20; ++i)
    Add(Verb::kHold, fmt::format("trainers wait 0.{}%", i), absl::Seconds(10 * i));
  Add(Verb::kHold, "workers start", absl::Seconds(210));
  EXPECT_EQ(timeline_.unsent().size(), 2u);
  Add(Verb::kHold, "workers start", absl::Minutes(30));
  EXPECT_EQ(timeline_.unsent().size(), 3u);
}

TEST_F(TimelineTest, EveryChangeIsKeptWithItsNumbers) {
  Add(Verb::kSetWorkers, "more", absl::Seconds(1), 4);
  Add(Verb::kSetWorkers, "more", absl::Seconds(2), 6);
  ASSERT_EQ(timeline_.unsent().size(), 2u);
  const v1::FleetDecision& last = timeline_.unsent().back();
  EXPECT_EQ(last.number(), 2u);
  EXPECT_EQ(last.verb(), "set_workers");
  EXPECT_EQ(last.amount(), 6);
  EXPECT_EQ(last.numbers(0).name(), "need");
  EXPECT_NE(metrics_.Text().find("headrace_orchestrator_decisions_total"), std::string::npos);
}

TEST_F(TimelineTest, WhatWasSentIsSentOnceAndOldOnesGo) {
  for (int i = 0; i < 500; ++i) Add(Verb::kSetWorkers, "more", absl::Seconds(i), i);
  EXPECT_EQ(timeline_.unsent().size(), Timeline::kKept);
  timeline_.Sent(450);
  EXPECT_EQ(timeline_.unsent().front().number(), 451u);
}

}  // namespace
}  // namespace headrace::orchestrate
