#include "orchestrator/capacity/controller.h"

#include "gtest/gtest.h"
#include "orchestrator/seeded_random.h"

namespace headrace::orchestrate {
namespace {

constexpr double kDataset = 6400;

// A job of f* = 100, b = 50: its knee is at half the dataset. Always filled and fresh.
class Job {
 public:
  CapacityObservation See(double stall) const {
    CapacityObservation seen;
    seen.dataset_bytes = kDataset;
    seen.bytes_per_second = 100 * (1 - stall);
    seen.stall = stall;
    seen.missed_bytes_per_second = 50;
    seen.hit_ratio = std::max(0.0, 1 - 50 / seen.bytes_per_second);
    seen.resident_bytes = seen.resident_at_epoch_start = state.capacity;
    seen.granted_bytes = kDataset;
    return seen;
  }
  CapacityDecision Step(const CapacityObservation& seen) {
    CapacityDecision decision = DecideCapacity(constants, seen, std::move(state));
    state = decision.state;
    return decision;
  }
  CapacityDecision Step(double stall) { return Step(See(stall)); }
  // As a uniform cache behaves: what is cached counts.
  CapacityDecision StepAsCached() {
    const double hit = state.capacity / kDataset;
    const double speed = std::min(100.0, 50 / (1 - hit));
    CapacityObservation seen = See(1 - speed / 100);
    seen.hit_ratio = hit;
    return Step(seen);
  }
  // To HOLD at half the dataset.
  void ToHold() {
    for (int i = 0; i < 100 && state.phase != CapacityPhase::kHold; ++i) StepAsCached();
    ASSERT_EQ(state.phase, CapacityPhase::kHold);
  }

  CapacityConstants constants;
  CapacityState state;
};

TEST(CapacityControllerTest, StartsAtASixtyFourthAndWaitsForThreeSamples) {
  Job job;
  EXPECT_DOUBLE_EQ(job.Step(0.5).capacity_bytes, kDataset / 64);
  EXPECT_DOUBLE_EQ(job.Step(0.5).capacity_bytes, kDataset / 64);
  EXPECT_DOUBLE_EQ(job.Step(0.5).capacity_bytes, kDataset / 32);
}

TEST(CapacityControllerTest, DoublesOnACompletedFillOnly) {
  Job job;
  for (int i = 0; i < 3; ++i) job.Step(0.5);
  CapacityObservation filling = job.See(0.5);
  filling.resident_bytes = 0.9 * job.state.capacity;
  EXPECT_FALSE(job.Step(filling).changed);
  EXPECT_DOUBLE_EQ(job.Step(0.5).capacity_bytes, kDataset / 16);
}

TEST(CapacityControllerTest, SlowStartEndsBelowTheEstimatedKnee) {
  Job job;
  double most = 0;
  for (int i = 0; i < 12; ++i) {
    const CapacityDecision decision = job.StepAsCached();
    if (decision.phase == CapacityPhase::kSlowStart) most = decision.capacity_bytes;
  }
  EXPECT_NEAR(most, 0.85 * 0.5 * kDataset, 1);
  EXPECT_EQ(job.state.phase, CapacityPhase::kAdditive);
}

TEST(CapacityControllerTest, StepsUpUntilTheTrainerWaitsLittle) {
  Job job;
  job.ToHold();
  // The knee is at .5; stall is 5% where h = 1 - .5 / .95.
  EXPECT_GE(job.state.capacity, 0.45 * kDataset);
  EXPECT_LE(job.state.capacity, 0.53 * kDataset);
}

TEST(CapacityControllerTest, SamplesOfAnEpochThatBeganWithLessDoNotCount) {
  Job job;
  while (job.state.phase != CapacityPhase::kAdditive) job.StepAsCached();
  const double before = job.state.capacity;
  for (int i = 0; i < 20; ++i) {
    CapacityObservation stale = job.See(0.3);
    stale.resident_at_epoch_start = 0.5 * before;
    EXPECT_EQ(job.Step(stale).capacity_bytes, before);
  }
}

TEST(CapacityControllerTest, AProbeThatCostsNothingStaysAndOneThatCostsIsTakenBack) {
  Job job;
  job.ToHold();
  const double held = job.state.capacity;
  while (job.state.phase == CapacityPhase::kHold) job.Step(0.0);
  EXPECT_NEAR(job.state.capacity, held - std::max(held / 16, kDataset / 64), 1);
  while (job.state.phase == CapacityPhase::kProbe) job.Step(0.01);
  const double kept = job.state.capacity;
  EXPECT_LT(kept, held);
  EXPECT_EQ(job.state.hold_periods, 8);
  for (int hold : {16, 32, 64, 64}) {
    while (job.state.phase == CapacityPhase::kHold) job.Step(0.0);
    while (job.state.phase == CapacityPhase::kProbe) job.Step(0.2);
    EXPECT_EQ(job.state.capacity, kept);
    EXPECT_EQ(job.state.hold_periods, hold);
  }
}

TEST(CapacityControllerTest, ACacheThatDoesNotHelpIsGivenUpForLongerAndLonger) {
  Job job;
  for (int expected : {16, 32, 64, 128, 256, 256}) {
    int waited = 0;
    for (; job.state.phase != CapacityPhase::kBackOff; ++waited) {
      ASSERT_LT(waited, 200);
      CapacityObservation seen = job.See(0.6);  // bound by preparation
      seen.hit_ratio = job.state.capacity / kDataset;
      seen.missed_bytes_per_second = 40 * (1 - seen.hit_ratio);
      job.Step(seen);
    }
    EXPECT_EQ(job.state.held, expected);
    EXPECT_DOUBLE_EQ(job.state.capacity, kDataset / 64);
    while (job.state.phase == CapacityPhase::kBackOff) job.Step(0.6);
  }
}

TEST(CapacityControllerTest, AShrinkingBudgetGoesDownToTheMinimumAndUpAgain) {
  Job job;
  job.ToHold();
  CapacityObservation seen = job.See(0.0);
  seen.budget_shrank = true;
  EXPECT_DOUBLE_EQ(job.Step(seen).capacity_bytes, kDataset / 64);
  EXPECT_EQ(job.state.phase, CapacityPhase::kSlowStart);
  job.ToHold();
  EXPECT_GE(job.state.capacity, 0.45 * kDataset);
}

TEST(CapacityControllerTest, AnEndedJobHoldsNothingAndANewOneStartsAfresh) {
  Job job;
  job.ToHold();
  CapacityObservation seen = job.See(0.0);
  seen.ended = true;
  EXPECT_EQ(job.Step(seen).capacity_bytes, 0);
  EXPECT_EQ(job.Step(seen).capacity_bytes, 0);
  seen.ended = false;
  EXPECT_DOUBLE_EQ(job.Step(seen).capacity_bytes, kDataset / 64);
}

TEST(CapacityControllerTest, WithoutAGrantThereIsNoGrowth) {
  Job job;
  for (int i = 0; i < 4; ++i) job.StepAsCached();
  const double before = job.state.capacity;
  CapacityObservation seen = job.See(0.5);
  seen.granted_bytes = before / 2;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(job.Step(seen).capacity_bytes, before);
}

TEST(CapacityControllerTest, AHitCurveMovesTheKnee) {
  CapacityState state;
  state.full_speed = {100, 100, 100};
  state.miss_speed = {50, 50, 50};
  EXPECT_DOUBLE_EQ(EstimateCapacity(state, kDataset)->knee, 0.5 * kDataset);
  EXPECT_DOUBLE_EQ(EstimateCapacity(state, kDataset, {{0.5, 0.25}, {1, 1}})->knee,
                   (0.5 + 0.5 / 3) * kDataset);
}

TEST(CapacityWantTest, TheKneeWhileItWaitsWhatItHasWhenItDoesNotAllWhereTheStorageIsFull) {
  Job job;
  for (int i = 0; i < 4; ++i) job.StepAsCached();
  CapacityObservation seen = job.See(0.4);
  EXPECT_NEAR(CapacityWant(job.constants, seen, job.state), 0.5 * kDataset, 1);
  seen = job.See(0.01);
  seen.resident_bytes = 0.7 * kDataset;
  EXPECT_DOUBLE_EQ(CapacityWant(job.constants, seen, job.state), 0.7 * kDataset);
  seen.storage_full = true;
  EXPECT_EQ(CapacityWant(job.constants, seen, job.state), kDataset);
  job.state.phase = CapacityPhase::kBackOff;
  EXPECT_EQ(CapacityWant(job.constants, seen, job.state), job.state.capacity);
}

TEST(CapacityControllerTest, AGainIsNotMissedWhereOthersTookTheStorage) {
  Job job;
  for (int i = 0; i < 100; ++i) {
    CapacityObservation seen = job.See(0.6);  // never faster, since others take what it leaves
    seen.hit_ratio = job.state.capacity / kDataset;
    seen.missed_bytes_per_second = 40 * (1 - seen.hit_ratio);
    seen.storage_full = true;
    job.Step(seen);
    ASSERT_NE(job.state.phase, CapacityPhase::kBackOff);
  }
}

// Property: whatever is seen, in whatever order.
TEST(CapacityControllerTest, WantsBetweenNothingAndTheDatasetWhateverItSees) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SeededRandom random(seed);
    CapacityState state;
    for (int i = 0; i < 300; ++i) {
      CapacityObservation seen;
      seen.dataset_bytes = random.Chance(0.01) ? 0 : random.LogUniform(1, 1e12);
      seen.bytes_per_second = random.Chance(0.1) ? 0 : random.LogUniform(1, 1e9);
      seen.stall = random.Uniform();
      seen.missed_bytes_per_second = random.Uniform() * seen.bytes_per_second;
      seen.hit_ratio = random.Uniform();
      seen.resident_bytes = random.Uniform() * 2 * state.capacity;
      seen.resident_at_epoch_start = random.Uniform() * 2 * state.capacity;
      seen.granted_bytes = random.Uniform() * 2 * state.capacity;
      seen.budget_shrank = random.Chance(0.02);
      seen.ended = random.Chance(0.02);
      const CapacityDecision decision = DecideCapacity(CapacityConstants(), seen, std::move(state));
      state = decision.state;
      ASSERT_GE(decision.capacity_bytes, 0);
      ASSERT_LE(decision.capacity_bytes, seen.dataset_bytes);
      ASSERT_FALSE(decision.reason.empty());
      ASSERT_LE(state.hold_periods, 64);
      ASSERT_LE(state.next_back_off, 256);
      if (seen.ended || seen.dataset_bytes == 0) {
        ASSERT_EQ(decision.capacity_bytes, 0);
      }
    }
  }
}

}  // namespace
}  // namespace headrace::orchestrate
