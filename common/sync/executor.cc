#include "common/sync/executor.h"

#include <exception>
#include <utility>

#include "common/logging/logging.h"

namespace headrace {

Executor::Executor(Options options) : options_(std::move(options)) {
  for (int i = 0; i < options_.threads; ++i) {
    threads_.emplace_back(fmt::format("{}-{}", options_.name, i), [this] { Run(); });
  }
}

Executor::~Executor() {
  Stop();
  threads_.clear();
}

bool Executor::TrySubmit(Task&& task) {
  absl::MutexLock lock(&mutex_);
  if (stopped_ || queue_.size() >= options_.max_queued) return false;
  queue_.push_back(std::move(task));
  return true;
}

void Executor::Stop() {
  std::deque<Task>
      dropped;  // goes after the lock: what a task captured may do anything when destroyed
  absl::MutexLock lock(&mutex_);
  stopped_ = true;
  dropped.swap(queue_);
}

bool Executor::WaitIdle(absl::Time deadline) {
  absl::MutexLock lock(&mutex_);
  const auto idle = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return queue_.empty() && running_ == 0;
  };
  return mutex_.AwaitWithDeadline(absl::Condition(&idle), deadline);
}

size_t Executor::queued() const {
  absl::MutexLock lock(&mutex_);
  return queue_.size();
}

void Executor::Run() {
  const auto ready = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopped_ || !queue_.empty();
  };
  for (;;) {
    Task task;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(&ready));
      if (queue_.empty()) return;
      task = std::move(queue_.front());
      queue_.pop_front();
      ++running_;
    }
    try {
      task();
    } catch (const std::exception& error) {
      LogError("a task of {} threw: {}", options_.name, error.what());
    } catch (...) {
      LogError("a task of {} threw something that is no std::exception", options_.name);
    }
    task = nullptr;  // its captures go before WaitIdle says that it is over
    absl::MutexLock lock(&mutex_);
    --running_;
  }
}

}  // namespace headrace
