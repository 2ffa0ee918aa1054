// The subprocesses of one function, and the blocks that wait for them. Owned by the pool and the
// sessions; thread-safe.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "pipeline/udf/function_pool.h"
#include "pipeline/udf/job.h"

namespace headrace::udf {

class Keeper;

class FunctionGroup {
 public:
  FunctionGroup(FunctionSpec spec, const FunctionPoolOptions& options, FunctionCounters& counters);
  ~FunctionGroup();  // Stop()

  const FunctionSpec& spec() const { return spec_; }
  const FunctionPoolOptions& options() const { return options_; }
  FunctionCounters& counters() { return counters_; }
  size_t width() const { return width_; }

  // --- Sessions' side.
  void AddSession();
  // Its waiting jobs are dropped.
  void DropSession(const Delivery& delivery);
  void Submit(std::unique_ptr<Job> job);
  // Ends the subprocesses. Jobs get no answer any more.
  void Stop();

  // --- Keepers' side.
  // The next job for a keeper that has `held` of them; without one, a keeper that has few is woken
  // when one comes. A second job is given ahead of need only when no subprocess idles.
  std::unique_ptr<Job> Take(Keeper& keeper, size_t held);
  // The function cannot run: fails all jobs, those to come too.
  void Fail(const absl::Status& status);
  // OK, or why the function cannot run.
  absl::Status failure() const;
  // Nobody has used it for so long.
  bool Unused(absl::Duration idle) const;

 private:
  void StartKeeperLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const FunctionSpec spec_;
  const FunctionPoolOptions& options_;
  FunctionCounters& counters_;
  const size_t width_;

  mutable absl::Mutex mutex_;
  std::deque<std::unique_ptr<Job>> jobs_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Keeper>> keepers_ ABSL_GUARDED_BY(mutex_);
  std::vector<Keeper*> idle_ ABSL_GUARDED_BY(mutex_);    // have nothing
  std::vector<Keeper*> hungry_ ABSL_GUARDED_BY(mutex_);  // could hold one more
  size_t sessions_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Duration unused_since_ ABSL_GUARDED_BY(mutex_);
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace headrace::udf
