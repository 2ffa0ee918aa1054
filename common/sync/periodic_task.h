// Calls a function every period on its own named thread: lease expiry, heartbeats, compaction. Runs
// never overlap. Owned by the class whose duty it is, as its last member. What the function throws
// is logged; the next run comes.
#pragma once

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/sync/thread.h"

namespace headrace {

class PeriodicTask {
 public:
  // The first run is one period from now (TriggerNow() for an earlier one); the period is counted
  // from the end of a run.
  PeriodicTask(std::string name, absl::Duration period, absl::AnyInvocable<void()> function);
  ~PeriodicTask();  // Stop()
  PeriodicTask(const PeriodicTask&) = delete;
  PeriodicTask& operator=(const PeriodicTask&) = delete;

  // A run as soon as the thread is free, then the period again. Calls during one run make one more
  // run.
  void TriggerNow();
  // The same, but not before `gap` has passed since the end of the last run: what comes in between
  // goes with it.
  void TriggerAfter(absl::Duration gap);
  // From the end of the run that is going on, or was the last, until the next one.
  void SetPeriod(absl::Duration period);

  // No run begins after this; waits for the one that is going on. Not from the function itself.
  void Stop();

 private:
  void Run();

  const std::string name_;
  absl::AnyInvocable<void()> function_;  // the thread's
  absl::Mutex mutex_;
  absl::CondVar changed_;
  absl::Duration period_ ABSL_GUARDED_BY(mutex_);
  absl::Duration pause_ ABSL_GUARDED_BY(mutex_);  // until the next run: period_, or less
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  Thread thread_;
};

}  // namespace headrace
