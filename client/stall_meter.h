// How long the trainer computed and how long it waited for us, told apart. Thread-free; times are
// steady-clock readings.
#pragma once

#include "absl/time/time.h"

namespace headrace {

class StallMeter {
 public:
  // The trainer asks for an element ...
  void Asked(absl::Duration now) {
    if (has_last_) step_ += now - last_;
    asked_ = now;
  }
  // ... and has it (or the end of the epoch).
  void Answered(absl::Duration now) {
    wait_ += now - asked_;
    last_ = now;
    has_last_ = true;
  }
  // Between epochs the trainer's time is its own.
  void Pause() { has_last_ = false; }

  absl::Duration step() const { return step_; }
  absl::Duration wait() const { return wait_; }

 private:
  absl::Duration step_ = absl::ZeroDuration();
  absl::Duration wait_ = absl::ZeroDuration();
  absl::Duration asked_ = absl::ZeroDuration();
  absl::Duration last_ = absl::ZeroDuration();
  bool has_last_ = false;
};

}  // namespace headrace
