// How long the trainer computed and how long it waited for us, told apart. Pauses are neither: the
// time between epochs, and a step so much longer than the others that the trainer did something
// else meanwhile (an evaluation, a checkpoint). Thread-free; times are steady-clock readings.
#pragma once

#include <algorithm>
#include <cstdint>

#include "absl/time/time.h"

namespace headrace {

class StepClock {
 public:
  // The trainer asks for an element ...
  void Asked(absl::Duration now) {
    if (has_last_) CountStep(now - last_);
    has_last_ = false;
    asked_ = now;
  }
  // ... and has it, or the end of the epoch.
  void Answered(absl::Duration now) {
    CountWait(now);
    last_ = now;
    has_last_ = true;
    longest_wait_ = std::max(longest_wait_, this_wait_);
    this_wait_ = absl::ZeroDuration();
  }
  // ... or nothing yet: it will ask again.
  void LeftWaiting(absl::Duration now) { CountWait(now); }
  // Between epochs the trainer's time is its own.
  void Pause() { has_last_ = false; }

  absl::Duration step() const { return step_; }      // of all steps together
  absl::Duration wait() const { return wait_; }      // of all waits together
  absl::Duration paused() const { return paused_; }  // in steps that were none
  absl::Duration longest_wait() const { return longest_wait_; }
  uint64_t steps() const { return steps_; }
  // What a step takes at present: what the trainer could do if it never waited. Zero before the
  // first one.
  absl::Duration usual_step() const { return usual_; }
  // Of the trainer's time, pauses left out, the part that it waited; 0 to 1.
  double stall_fraction() const {
    const absl::Duration both = step_ + wait_;
    return both > absl::ZeroDuration() ? absl::FDivDuration(wait_, both) : 0;
  }

 private:
  static constexpr uint64_t kWarmUpSteps = 8;  // the first ones compile, allocate, open files
  static constexpr int64_t kPauseFactor = 20;
  static constexpr absl::Duration kShortestPause = absl::Milliseconds(500);
  static constexpr int kMostPausesInARow = 3;  // then it is how long a step takes from now on

  void CountWait(absl::Duration now) {
    wait_ += now - asked_;
    this_wait_ += now - asked_;
    asked_ = now;
  }
  void CountStep(absl::Duration took) {
    const bool long_one =
        steps_ >= kWarmUpSteps && took > kShortestPause && took > kPauseFactor * usual_;
    if (long_one && pauses_in_a_row_ < kMostPausesInARow) {
      ++pauses_in_a_row_;
      paused_ += took;
      return;
    }
    ++steps_;
    step_ += took;
    // A moving average over the last dozen or so; begun anew when the pace has changed.
    usual_ = long_one || steps_ <= kWarmUpSteps ? took : usual_ + (took - usual_) / 16;
    pauses_in_a_row_ = 0;
  }

  absl::Duration step_ = absl::ZeroDuration();
  absl::Duration wait_ = absl::ZeroDuration();
  absl::Duration paused_ = absl::ZeroDuration();
  absl::Duration usual_ = absl::ZeroDuration();
  absl::Duration longest_wait_ = absl::ZeroDuration();
  absl::Duration this_wait_ = absl::ZeroDuration();
  absl::Duration asked_ = absl::ZeroDuration();
  absl::Duration last_ = absl::ZeroDuration();
  uint64_t steps_ = 0;
  int pauses_in_a_row_ = 0;
  bool has_last_ = false;
};

}  // namespace headrace
