// Group commit, for drivers that write: many threads append events and wait for them; a thread of
// its own hands all that wait to the driver at once. Owned by a driver, which stops it before it
// closes what it writes to. Thread-safe, but for Start.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "common/sync/thread.h"
#include "headrace/v1/journal.pb.h"

namespace headrace {

class CommitQueue {
 public:
  // Keeps the first of `events`, which has that position, and as many more as it likes; returns how
  // many would survive a crash now. May move them out. An error is for good: what was not kept
  // before is lost, and it is not called again.
  using Commit =
      absl::AnyInvocable<absl::StatusOr<size_t>(std::span<v1::Event> events, uint64_t position)>;

  CommitQueue() = default;
  ~CommitQueue() { Stop(); }
  CommitQueue(const CommitQueue&) = delete;
  CommitQueue& operator=(const CommitQueue&) = delete;

  // Once, before all else: events before `position` are durable.
  void Start(uint64_t position, Commit commit);
  // As Journal has it.
  uint64_t Append(std::vector<v1::Event> events);
  absl::Status WaitDurable(uint64_t position);
  uint64_t durable() const;
  // What was appended is committed first. Idempotent.
  void Stop();

 private:
  void Loop(Commit& commit);

  mutable absl::Mutex mutex_;
  absl::CondVar appended_;
  absl::CondVar committed_;
  std::vector<v1::Event> queue_ ABSL_GUARDED_BY(mutex_);
  uint64_t position_ ABSL_GUARDED_BY(mutex_) = 0;  // behind queue_
  uint64_t durable_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  Thread committer_;
};

}  // namespace headrace
