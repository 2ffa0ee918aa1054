// Threads that may block in reads. The worker owns the one pool; all its tasks' readers run here, a
// block at a time, so that no split keeps a thread for itself.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace headrace {

class IoPool {
 public:
  explicit IoPool(size_t threads);
  // Drops the jobs that have not started; joins (waits for reads in progress: file systems bound
  // theirs).
  ~IoPool();
  IoPool(const IoPool&) = delete;
  IoPool& operator=(const IoPool&) = delete;

  // Runs `job` once, in the order of submission, unless the pool is destroyed first. A job may
  // outlive who submitted it, so it must own what it touches.
  void Submit(std::function<void()> job);

  // Jobs wait for a thread (or the pool is about to go): who runs one should come to its end.
  bool busy() const;

  size_t threads() const { return threads_.size(); }

 private:
  void Loop();

  mutable absl::Mutex mutex_;
  absl::CondVar wake_;
  std::deque<std::function<void()>> jobs_ ABSL_GUARDED_BY(mutex_);
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace headrace
