#include "common/sync/periodic_task.h"

#include <exception>
#include <utility>

#include "common/clock.h"
#include "common/logging/logging.h"

namespace headrace {

PeriodicTask::PeriodicTask(std::string name, absl::Duration period,
                           absl::AnyInvocable<void()> function)
    : name_(std::move(name)), function_(std::move(function)), period_(period), pause_(period) {
  thread_ = Thread(name_, [this] { Run(); });
}

PeriodicTask::~PeriodicTask() { Stop(); }

void PeriodicTask::TriggerNow() { TriggerAfter(absl::ZeroDuration()); }

void PeriodicTask::TriggerAfter(absl::Duration gap) {
  absl::MutexLock lock(&mutex_);
  if (gap >= pause_) return;
  pause_ = gap;
  changed_.Signal();
}

void PeriodicTask::SetPeriod(absl::Duration period) {
  absl::MutexLock lock(&mutex_);
  if (pause_ == period_ || period < pause_) pause_ = period;
  period_ = period;
  changed_.Signal();
}

void PeriodicTask::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stopped_ = true;
    changed_.Signal();
  }
  thread_.Join();
}

void PeriodicTask::Run() {
  for (;;) {
    {
      absl::MutexLock lock(&mutex_);
      const absl::Duration ended = RealClock().Steady();
      while (!stopped_ && pause_ > absl::ZeroDuration()) {
        const absl::Duration left = ended + pause_ - RealClock().Steady();
        if (left <= absl::ZeroDuration()) break;
        changed_.WaitWithTimeout(&mutex_, left);
      }
      if (stopped_) return;
      pause_ = period_;
    }
    try {
      function_();
    } catch (const std::exception& error) {
      LogError("{} threw: {}", name_, error.what());
    } catch (...) {
      LogError("{} threw something that is no std::exception", name_);
    }
  }
}

}  // namespace headrace
