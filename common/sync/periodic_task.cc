#include "common/sync/periodic_task.h"

#include <exception>
#include <utility>

#include "common/logging/logging.h"

namespace headrace {

PeriodicTask::PeriodicTask(std::string name, absl::Duration period,
                           absl::AnyInvocable<void()> function)
    : name_(std::move(name)), period_(period), function_(std::move(function)) {
  thread_ = Thread(name_, [this] { Run(); });
}

PeriodicTask::~PeriodicTask() { Stop(); }

void PeriodicTask::TriggerNow() {
  absl::MutexLock lock(&mutex_);
  triggered_ = true;
}

void PeriodicTask::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stopped_ = true;
  }
  thread_.Join();
}

void PeriodicTask::Run() {
  const auto woken = [this]()
                         ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopped_ || triggered_; };
  for (;;) {
    {
      absl::MutexLock lock(&mutex_);
      mutex_.AwaitWithTimeout(absl::Condition(&woken), period_);
      if (stopped_) return;
      triggered_ = false;
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
