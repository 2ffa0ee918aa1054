// One task on this worker: the engine's Task, the leases it asks for, and the client streams that
// its batches leave by.
//
// The TaskTable owns it. The engine's callbacks (any thread) only set flags and wake the worker's
// loops; the lease loop calls PullLeases, the send loop Pump, the beat loop Collect. Streams come
// and go from transport threads.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "rpc/dispatcher_client.h"
#include "worker/lease_puller.h"
#include "worker/load_meter.h"
#include "worker/ordered_router.h"
#include "worker/report_log.h"
#include "worker/task_factory.h"

namespace headrace {

// How a host wakes the worker's loops. All quick, callable from any thread.
struct TaskWakers {
  std::function<void()> leases;  // a task wants leases
  std::function<void()> send;    // a task has output, or a stream has room
  std::function<void()> beat;    // there is something to report
};

class TaskHost {
 public:
  static absl::StatusOr<std::unique_ptr<TaskHost>> Create(const v1::TaskDef& def, uint64_t worker,
                                                          const TaskFactory& factory,
                                                          TaskWakers wakers);
  ~TaskHost();  // stops the engine's task, closes the streams
  TaskHost(const TaskHost&) = delete;
  TaskHost& operator=(const TaskHost&) = delete;

  uint64_t id() const { return def_.task(); }
  const v1::TaskDef& def() const { return def_; }

  // Lease loop: one round trip when the task wants splits. True when it should be called again at
  // once.
  bool PullLeases(WorkerCalls& dispatcher, absl::Duration now, absl::Duration timeout);
  // The dispatcher says that there may be splits again.
  void WakeLeases();

  // Others have nothing to do.
  void Shed(size_t idle) { task_->Shed(idle); }

  // Something can be sent, perhaps: output that came, a stream with room. From any thread.
  void NotePump() {
    pump_ = true;
    wakers_.send();
  }
  // Send loop: whether it was noted since the last time.
  bool TakePump() { return pump_.exchange(false); }
  // Send loop: moves finished blocks to streams that have credit.
  void Pump();
  void AddStream(std::shared_ptr<FrameStream> stream);
  // A stream ended. If frames were lost in it, its client says so (ClientBeat.broken_tasks) or is
  // itself lost: either way the dispatcher fences the task and gives its records out again.
  void RemoveStream(const FrameStream* stream);

  // Beat loop: moves what is new into `log`.
  void Collect(ReportLog& log);
  v1::TaskStats Stats() const;
  LoadMeter::TaskLoad Load() const;  // the job is left 0
  bool Idle() const;

 private:
  TaskHost(const v1::TaskDef& def, uint64_t worker, TaskWakers wakers);
  void AddLeases(const std::vector<v1::Lease>& leases);

  const v1::TaskDef def_;
  const TaskWakers wakers_;
  std::atomic<bool> pump_ = false;
  std::unique_ptr<Task> task_;
  std::shared_ptr<const TaskCache> cache_;  // null: nothing is kept
  std::unique_ptr<FrameRouter> router_;
  OrderedRouter* ordered_ = nullptr;  // router_, of an ordered lane

  absl::Mutex lease_mutex_;
  LeasePuller puller_ ABSL_GUARDED_BY(lease_mutex_);
  bool in_window_ = false;  // of the lease loop

  absl::Mutex error_mutex_;
  absl::Status error_ ABSL_GUARDED_BY(error_mutex_);  // of streams and leases
  bool error_reported_ ABSL_GUARDED_BY(error_mutex_) = false;
};

}  // namespace headrace
