#include "pipeline/engine/cpu_meter.h"

#include <ctime>

namespace headrace {
namespace {

class ThreadClockMeter final : public CpuMeter {
 public:
  uint64_t ThreadNanos() const override {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000ull +
           static_cast<uint64_t>(now.tv_nsec);
  }
};

}  // namespace

const CpuMeter& RealCpuMeter() {
  static const ThreadClockMeter* const meter = new ThreadClockMeter;  // as RealClock
  return *meter;
}

}  // namespace headrace
