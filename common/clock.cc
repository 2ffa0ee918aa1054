#include "common/clock.h"

#include <chrono>

namespace headrace {
namespace {

class SystemClock final : public Clock {
 public:
  absl::Time Now() const override { return absl::Now(); }
  absl::Duration Steady() const override {
    return absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
  }
};

}  // namespace

const Clock& RealClock() {
  // Never destroyed: threads that a closing left behind read it while the process exits.
  static const SystemClock* const clock = new SystemClock;
  return *clock;
}

}  // namespace headrace
