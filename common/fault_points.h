// Named places where a test, or an operator who wants to see what happens, makes something go
// wrong:
//
//   HR_RETURN_IF_ERROR(FaultPoint("journal.append.fsync"));
//
// Always compiled in; while nothing is armed a point costs one atomic load. The table of armed
// faults is the process's (a point must not need an object handed down to it); all functions are
// thread-safe. Names are room.thing.step.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace headrace {

// What a hit does. Runs in the thread that hits, without a lock held. Its status is what FaultPoint
// returns.
using FaultAction = std::function<absl::Status()>;

FaultAction FailWith(absl::Status status);
FaultAction Delay(absl::Duration duration);  // then goes on
FaultAction Crash();  // SIGKILL to this process: nothing is flushed or closed

// Which hits of the point are hit by the fault: `times` of them from the `first` one on (1 is the
// first).
struct FaultWindow {
  int64_t first = 1;
  int64_t times = INT64_MAX;
};

namespace fault_internal {
struct Fault;
extern std::atomic<int> armed;
absl::Status Hit(std::string_view name);
}  // namespace fault_internal

inline absl::Status FaultPoint(std::string_view name) {
  if (fault_internal::armed.load(std::memory_order_relaxed) == 0) [[likely]] {
    return absl::OkStatus();
  }
  return fault_internal::Hit(name);
}

// Arms a fault while it lives. Several on one point act in the order they were armed, up to the
// first error.
class ScopedFault {
 public:
  ScopedFault(std::string name, FaultAction action, FaultWindow window = {});
  ~ScopedFault();
  ScopedFault(const ScopedFault&) = delete;
  ScopedFault& operator=(const ScopedFault&) = delete;

  int64_t hits() const;  // of the point, in the window or not, while this is armed

 private:
  std::shared_ptr<fault_internal::Fault> fault_;
};

// Arms faults for the life of the process, as HEADRACE_FAULTS says (main passes its value):
//
//   NAME[@FIRST][*TIMES]=fail:CODE:MESSAGE | delay:DURATION | crash [; ...]
//   "journal.append.fsync@3*1=fail:UNAVAILABLE:disk gone; worker.push=delay:50ms"
//
// INVALID_ARGUMENT names the part that is wrong, and then nothing is armed.
absl::Status ArmFaults(std::string_view spec);

}  // namespace headrace
