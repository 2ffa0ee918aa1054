// A fixed set of named threads that run short tasks from a queue bounded by count. Owned by a role;
// any thread may submit. A task must not wait for another task of the same executor. What a task
// throws is logged and swallowed.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/sync/thread.h"

namespace headrace {

class Executor {
 public:
  using Task = absl::AnyInvocable<void()>;
  struct Options {
    std::string name;  // threads are called name-0, name-1, ...
    int threads = 1;
    size_t max_queued = 1024;
  };

  explicit Executor(Options options);
  // Stop() and join: in the time that the running tasks need.
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // False when the queue is full or the executor has stopped; `task` is then left as it was.
  bool TrySubmit(Task&& task);

  // Refuses new tasks, drops the queued ones, lets the running ones end. Does not wait; not from a
  // task's destructor.
  void Stop();

  // Waits until no task is queued or running; false at the deadline.
  bool WaitIdle(absl::Time deadline);

  size_t queued() const;

 private:
  void Run();

  const Options options_;
  mutable absl::Mutex mutex_;
  std::deque<Task> queue_ ABSL_GUARDED_BY(mutex_);
  size_t running_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<Thread> threads_;  // last: they use what is above
};

}  // namespace headrace
