// A worker: registers with the dispatcher, runs the tasks it is assigned, pulls their leases,
// pushes finished batches to clients.
//
// Threads (each owned by a member, joined by the destructor): beat (registers, beats, starts and
// stops tasks), lease (asks for splits), send (moves finished blocks into streams), the compute and
// I/O pools, the transport's own.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "cache/tiered_cache.h"
#include "common/clock.h"
#include "common/logging/logging.h"
#include "common/sync/cancellation.h"
#include "common/sync/periodic_task.h"
#include "pipeline/engine/compute_pool.h"
#include "pipeline/engine/io_pool.h"
#include "pipeline/udf/function_pool.h"
#include "rpc/dispatcher_client.h"
#include "rpc/fleet_calls.h"
#include "transport/frame_stream.h"
#include "worker/held_splits.h"
#include "worker/load_meter.h"
#include "worker/report_log.h"
#include "worker/stream_metrics.h"
#include "worker/task_factory.h"
#include "worker/task_table.h"
#include "worker/worker_config.h"
#include "worker/worker_metrics.h"

namespace headrace {

class Worker final : private StreamHandler {
 public:
  struct Deps {
    std::shared_ptr<WorkerCalls> dispatcher;
    std::shared_ptr<FileSystem> files;
    const Catalog* catalog;  // these outlive the worker
    const Clock* clock;
    Metrics* metrics;                             // outlives the worker, too
    std::shared_ptr<FleetCalls> fleet = nullptr;  // null: nobody is told of its load
  };
  // Binds the listening addresses and registers. Errors: INVALID_ARGUMENT (a transport that there
  // is not), UNAVAILABLE (port in use), UNAVAILABLE (no dispatcher answered within connect_timeout;
  // the message names its address), CANCELLED (`stop` was cancelled first).
  static absl::StatusOr<std::unique_ptr<Worker>> Start(const WorkerConfig& config, Deps deps,
                                                       const CancellationToken& stop);
  ~Worker() override;  // Shutdown(config.shutdown_timeout)
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Says goodbye, drops its tasks (their records are given out again), stops serving. Idempotent.
  void Shutdown(absl::Duration timeout);

  // Leaves once its tasks have nothing more to deliver; a drained worker loses nothing and has
  // nothing made twice.
  void Drain() { draining_ = true; }
  bool drained() const { return drained_; }

  const std::string& address() const { return address_; }  // what clients dial
  uint64_t id() const { return id_; }

 private:
  Worker(const WorkerConfig& config, Deps deps, std::unique_ptr<TieredCache> cache);

  absl::Status Listen();
  std::string Advertised(const FrameServer& server) const;
  absl::Status Register();
  absl::Status RegisterUntil(const CancellationToken& stop);
  void Beat();
  void StartTask(const v1::TaskDef& def) ABSL_EXCLUSIVE_LOCKS_REQUIRED(beat_mutex_);
  void ForgetTask(uint64_t task) ABSL_EXCLUSIVE_LOCKS_REQUIRED(beat_mutex_);
  void PullAllLeases();
  void PumpAll();
  void ReportLoad();

  // StreamHandler: on transport threads.
  absl::Status OnOpen(std::shared_ptr<FrameStream> stream) override;
  void OnReady(const std::shared_ptr<FrameStream>& stream) override;
  void OnClosed(const std::shared_ptr<FrameStream>& stream, const absl::Status& status) override;

  const WorkerConfig config_;
  const Deps deps_;
  const uint64_t uid_;  // of this process, random
  std::string address_;
  std::atomic<uint64_t> id_ = 0;
  std::atomic<uint64_t> cluster_ = 0;  // that id_ belongs to
  std::atomic<bool> draining_ = false;
  std::atomic<bool> drained_ = false;
  std::atomic<bool> stopped_ = false;

  const std::unique_ptr<TieredCache> cache_;  // outlives reads and blocks
  HeldSplits held_;
  ComputePool compute_;
  IoPool io_;
  FunctionPool functions_;
  TaskFactory factory_;
  TaskTable tasks_;
  absl::Mutex beat_mutex_;  // held over a beat: reports go out in order
  ReportLog reports_ ABSL_GUARDED_BY(beat_mutex_);
  LogLimiter beat_limiter_{absl::Seconds(10)};  // of refusals that do not pass
  WorkerMetrics metrics_ ABSL_GUARDED_BY(beat_mutex_);
  StreamMetrics stream_metrics_;
  absl::Duration pumped_all_;  // the send loop's

  std::vector<std::unique_ptr<FrameServer>> servers_;  // as config.transports names them
  // Last: their threads use everything above.
  std::unique_ptr<PeriodicTask> lease_loop_;
  std::unique_ptr<PeriodicTask> send_loop_;
  std::unique_ptr<PeriodicTask> beat_loop_;
  LoadMeter load_;  // the load loop's
  std::unique_ptr<PeriodicTask> load_loop_;
};

}  // namespace headrace
