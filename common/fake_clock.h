// A clock that moves only when told to. For tests and the simulation; no binary links it.
#pragma once

#include "absl/synchronization/mutex.h"
#include "common/clock.h"

namespace headrace {

class FakeClock final : public Clock {
 public:
  absl::Time Now() const override { return absl::UnixEpoch() + Steady(); }
  absl::Duration Steady() const override {
    absl::MutexLock lock(&mutex_);
    return now_;
  }
  void Advance(absl::Duration by) {
    absl::MutexLock lock(&mutex_);
    now_ += by;
  }

 private:
  mutable absl::Mutex mutex_;
  absl::Duration now_ ABSL_GUARDED_BY(mutex_) = absl::Hours(1);
};

}  // namespace headrace
