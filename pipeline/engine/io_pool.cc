#include "pipeline/engine/io_pool.h"

#include <algorithm>
#include <utility>

namespace headrace {

IoPool::IoPool(size_t threads) {
  threads_.reserve(threads);
  for (size_t i = 0; i < std::max<size_t>(threads, 1); ++i) {
    threads_.emplace_back([this] { Loop(); });
  }
}

IoPool::~IoPool() {
  std::deque<std::function<void()>> dropped;
  {
    absl::MutexLock lock(&mutex_);
    stop_ = true;
    dropped.swap(jobs_);
    wake_.SignalAll();
  }
  for (std::thread& thread : threads_) thread.join();
}

void IoPool::Submit(std::function<void()> job) {
  absl::MutexLock lock(&mutex_);
  if (stop_) return;
  jobs_.push_back(std::move(job));
  wake_.Signal();
}

bool IoPool::busy() const {
  absl::MutexLock lock(&mutex_);
  return stop_ || !jobs_.empty();
}

void IoPool::Loop() {
  while (true) {
    std::function<void()> job;
    {
      absl::MutexLock lock(&mutex_);
      while (jobs_.empty() && !stop_) wake_.Wait(&mutex_);
      if (stop_) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    job();
  }
}

}  // namespace headrace
