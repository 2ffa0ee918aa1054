#include "client/step_clock.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

class StepClockTest : public ::testing::Test {
 protected:
  // One element: the trainer waits for it, then computes.
  void Step(absl::Duration wait, absl::Duration step) {
    clock_.Asked(now_);
    now_ += wait;
    clock_.Answered(now_);
    now_ += step;
  }
  StepClock clock_;
  absl::Duration now_ = absl::Hours(7);
};

TEST_F(StepClockTest, StepsAndWaitsAreToldApart) {
  for (int i = 0; i < 10; ++i) Step(absl::Milliseconds(1), absl::Milliseconds(3));
  clock_.Asked(now_);
  EXPECT_EQ(clock_.steps(), 10u);
  EXPECT_EQ(clock_.step(), absl::Milliseconds(30));
  EXPECT_EQ(clock_.wait(), absl::Milliseconds(10));
  EXPECT_EQ(clock_.longest_wait(), absl::Milliseconds(1));
  EXPECT_EQ(clock_.usual_step(), absl::Milliseconds(3));
  EXPECT_DOUBLE_EQ(clock_.stall_fraction(), 0.25);
}

TEST_F(StepClockTest, AWaitInSlicesIsOneWaitAndNoStep) {
  clock_.Asked(now_);
  for (int i = 0; i < 5; ++i) {
    now_ += absl::Milliseconds(200);
    clock_.LeftWaiting(now_);
    now_ += absl::Milliseconds(1);  // the caller looks after signals
    clock_.Asked(now_);
  }
  now_ += absl::Milliseconds(7);
  clock_.Answered(now_);
  EXPECT_EQ(clock_.steps(), 0u);
  EXPECT_EQ(clock_.step(), absl::ZeroDuration());
  EXPECT_EQ(clock_.wait(), absl::Milliseconds(1007));
  EXPECT_EQ(clock_.longest_wait(), absl::Milliseconds(1007));
}

TEST_F(StepClockTest, BetweenEpochsNothingIsCounted) {
  Step(absl::ZeroDuration(), absl::Milliseconds(2));
  clock_.Asked(now_);
  clock_.Answered(now_);  // the epoch's end
  clock_.Pause();
  now_ += absl::Hours(1);
  Step(absl::ZeroDuration(), absl::Milliseconds(2));
  clock_.Asked(now_);
  EXPECT_EQ(clock_.step(), absl::Milliseconds(4));
  EXPECT_EQ(clock_.paused(), absl::ZeroDuration());
}

TEST_F(StepClockTest, ACheckpointIsNoStep) {
  for (int i = 0; i < 100; ++i)
    Step(absl::ZeroDuration(), i % 20 == 10 ? absl::Seconds(4) : absl::Milliseconds(10));
  clock_.Asked(now_);
  EXPECT_EQ(clock_.steps(), 95u);
  EXPECT_EQ(clock_.usual_step(), absl::Milliseconds(10));
  EXPECT_EQ(clock_.step(), absl::Milliseconds(950));
  EXPECT_EQ(clock_.paused(), absl::Seconds(20));
}

TEST_F(StepClockTest, ATrainerThatBecomesSlowIsNotPausedForEver) {
  for (int i = 0; i < 20; ++i) Step(absl::ZeroDuration(), absl::Milliseconds(10));
  for (int i = 0; i < 10; ++i) Step(absl::ZeroDuration(), absl::Seconds(2));
  clock_.Asked(now_);
  EXPECT_EQ(clock_.paused(), absl::Seconds(6));
  EXPECT_EQ(clock_.step(), absl::Milliseconds(200) + absl::Seconds(14));
  EXPECT_EQ(clock_.usual_step(), absl::Seconds(2));
}

TEST_F(StepClockTest, ASlowFirstStepIsNotWhatIsUsual) {
  Step(absl::ZeroDuration(), absl::Seconds(30));  // compiles
  for (int i = 0; i < 8; ++i) Step(absl::ZeroDuration(), absl::Milliseconds(10));
  clock_.Asked(now_);
  EXPECT_EQ(clock_.usual_step(), absl::Milliseconds(10));
}

}  // namespace
}  // namespace headrace
