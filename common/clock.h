// Time is handed in. Real roles get RealClock(); tests and the simulation get a FakeClock
// (common/fake_clock.h).
#pragma once

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace headrace {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual absl::Time Now() const = 0;         // wall time: for people and logs
  virtual absl::Duration Steady() const = 0;  // never goes back: for time-outs and measurement
};

// Lives for the whole process; thread-safe.
const Clock& RealClock();

}  // namespace headrace
