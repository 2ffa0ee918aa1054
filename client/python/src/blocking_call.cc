#include "client/python/src/blocking_call.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "client/python/src/forks.h"

namespace py = pybind11;

namespace headrace::python {
namespace {

struct RunningCalls {
  const Birthplace birthplace;
  absl::Mutex mutex;
  int count ABSL_GUARDED_BY(mutex) = 0;
};

// Of this process: after a fork another one. Never freed: a call may end while the process does.
RunningCalls& Running() {
  static std::atomic<RunningCalls*> running = new RunningCalls;
  RunningCalls* here = running.load();
  if (here->birthplace.forked_since()) {
    auto* fresh = new RunningCalls;
    if (running.compare_exchange_strong(here, fresh)) return *fresh;
    delete fresh;  // `here` is now another thread's
  }
  return *here;
}

void Count(int change) {
  RunningCalls& running = Running();
  absl::MutexLock lock(&running.mutex);
  running.count += change;
}

}  // namespace

BlockingCall::BlockingCall(absl::AnyInvocable<void()> body)
    : done_(std::make_shared<absl::Notification>()) {
  Count(1);
  std::thread([done = done_, body = std::move(body)]() mutable {
    body();
    body = nullptr;  // what it owns may block, too
    done->Notify();
    Count(-1);
  }).detach();
}

bool BlockingCall::Wait(absl::Duration timeout) const {
  const absl::Time deadline = absl::Now() + timeout;
  while (true) {
    {
      py::gil_scoped_release release;
      const absl::Duration slice = std::min(kSignalSlice, deadline - absl::Now());
      if (done_->WaitForNotificationWithTimeout(slice)) return true;
    }
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    if (absl::Now() >= deadline) return done();
  }
}

void WaitForLeftCalls(absl::Duration timeout) {
  RunningCalls& running = Running();
  const auto none = [&running] {
    running.mutex.AssertHeld();
    return running.count == 0;
  };
  absl::MutexLock lock(&running.mutex);
  running.mutex.AwaitWithTimeout(absl::Condition(&none), timeout);
}

}  // namespace headrace::python
