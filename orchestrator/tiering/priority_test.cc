#include "orchestrator/tiering/priority.h"

#include "gtest/gtest.h"
#include "orchestrator/seeded_random.h"

namespace headrace::orchestrate {
namespace {

constexpr double kHour = 3600;

TEST(ReadHistoryTest, HalvesInTwoHours) {
  const PriorityRule rule;
  ReadHistory history;
  AddRead(rule, 100, 0, history);
  EXPECT_DOUBLE_EQ(DecayedBytes(rule, history, 2 * kHour), 50);
  AddRead(rule, 100, 2 * kHour, history);
  EXPECT_DOUBLE_EQ(DecayedBytes(rule, history, 4 * kHour), 75);
}

TEST(SegmentPriorityTest, TheFutureCountsMoreThanThePast) {
  const PriorityRule rule;
  EXPECT_EQ(SegmentPriority(rule, {10, 0, 0}), 0);
  EXPECT_DOUBLE_EQ(SegmentPriority(rule, {10, 10, 0}), 0.025);
  EXPECT_DOUBLE_EQ(SegmentPriority(rule, {10, 0, 10}), 0.225);
  EXPECT_LT(SegmentPriority(rule, {10, 1e9, 1e9}), 1);
  EXPECT_EQ(SegmentPriority(rule, {0, 5, 5}), 0);
}

TEST(DecideAdmissionTest, FollowsTheServosFormula) {
  AdmissionState state;
  AdmissionDecision decision = DecideAdmission({}, {200, 200, 100}, state);  // e = 1
  EXPECT_DOUBLE_EQ(decision.theta, 0.5 + 0.1 + 0.01);
  decision = DecideAdmission({}, {50, 50, 100}, decision.state);  // e = -.5, sum = .5
  EXPECT_DOUBLE_EQ(decision.theta, 0.61 - 0.05 + 0.005);
  EXPECT_EQ(DecideAdmission({}, {0, 0, 0}, state).theta, 1);
}

TEST(DecideAdmissionTest, HoldsWritesAtTheBudget) {
  // What is offered: 1000 bytes a period, of priorities that are uniform.
  for (double budget : {10.0, 50.0, 200.0, 700.0}) {
    SeededRandom random(9);
    AdmissionState state;
    double written = 0, last = 0;
    for (int period = 0; period < 2000; ++period) {
      double now = 0;
      for (int i = 0; i < 1000; ++i) now += random.Uniform() >= state.theta;
      const AdmissionDecision decision = DecideAdmission({}, {now, 1000, budget}, state);
      state = decision.state;
      ASSERT_GE(state.theta, 0);
      ASSERT_LE(state.theta, 1);
      if (period >= 500) written += now, ++last;
    }
    EXPECT_NEAR(written / last, budget, 0.1 * budget) << budget;
  }
}

TEST(DecideAdmissionTest, AnIdleNightDoesNotOpenTheGateForTheMorning) {
  AdmissionState state;
  for (int i = 0; i < 600; ++i) state = DecideAdmission({}, {0, 0, 100}, state).state;
  EXPECT_EQ(state.theta, 0);
  int periods = 0;
  for (; periods < 100 && state.theta < 0.5; ++periods)
    state = DecideAdmission({}, {300, 300, 100}, state).state;
  EXPECT_LE(periods, 8);
}

TEST(DecideDemotionTest, DownATierBeforeItIsDeleted) {
  const std::vector<TierRoom> tiers = {
      {"memory", 0, 0.5, 0}, {"disk", 0, 0.2, 0.3}, {"store", 50, 0, 0}};
  EXPECT_EQ(DecideDemotion(tiers, 0, 10, 0.4).tier, 1u);   // in place of .2
  EXPECT_EQ(DecideDemotion(tiers, 0, 10, 0.25).tier, 2u);  // not worth a write to the disk
  EXPECT_EQ(DecideDemotion(tiers, 1, 10, 0.0).tier, 2u);
  EXPECT_FALSE(DecideDemotion(tiers, 2, 10, 0.9).tier.has_value());
  EXPECT_NE(DecideDemotion(tiers, 2, 10, 0.9).reason.find("deleted"), std::string::npos);
}

}  // namespace
}  // namespace headrace::orchestrate
