// The dispatcher without its network: turns calls into events, keeps them, applies them, answers.
// Thread-safe; owned by Dispatcher (server.h).
//
// One mutex guards State and what goes with it; it is held for an op, never for I/O: files are
// listed before it is taken, the journal is waited for after it is let go. An answer leaves when
// the journal has all that it could have seen (context/changes.h). When the journal fails, every
// later call fails too, with UNAVAILABLE: the process must be restarted.
#pragma once

#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "common/clock.h"
#include "dispatcher/context/op_context.h"
#include "dispatcher/dispatcher_config.h"
#include "dispatcher/dispatcher_metrics.h"
#include "dispatcher/fleet_board.h"
#include "dispatcher/journal/journal.h"
#include "dispatcher/pipeline_resolver.h"
#include "rpc/dispatcher_handler.h"
#include "rpc/fleet_calls.h"

namespace headrace {

class DispatcherService final : public DispatcherHandler, public FleetHandler {
 public:
  // All outlive the service. `metrics` may be null.
  struct Deps {
    Journal* journal = nullptr;
    PipelineResolver* resolver = nullptr;
    const Clock* clock = nullptr;
    DispatcherMetrics* metrics = nullptr;
    // What a journal that has no id yet is called from now on: random. 0: it stays without one, and
    // requests of other lives are not told apart.
    uint64_t new_cluster = 0;
  };
  DispatcherService(const DispatcherConfig& config, Deps deps);

  // State as the journal has it; before any call. Everybody counts as just heard of.
  absl::Status Recover();
  // What the dispatcher does by itself; called every background_period.
  void RunDuties();
  // Keeps a snapshot, so that a restart need not replay all that came before. Calls go on
  // beside it; a second one waits for the first. An error leaves the journal as it was.
  absl::Status Compact();
  // The same when the journal has grown enough; failures are logged.
  void CompactIfWorthwhile();

  absl::StatusOr<v1::OpenJobReply> OpenJob(const v1::OpenJobRequest& request) override;
  absl::StatusOr<v1::StartEpochReply> StartEpoch(const v1::StartEpochRequest& request) override;
  absl::StatusOr<v1::ClientBeatReply> ClientBeat(const v1::ClientBeatRequest& request) override;
  absl::StatusOr<v1::CloseClientReply> CloseClient(const v1::CloseClientRequest& request) override;
  absl::StatusOr<v1::RestoreJobReply> RestoreJob(const v1::RestoreJobRequest& request) override;
  absl::StatusOr<v1::RegisterWorkerReply> RegisterWorker(
      const v1::RegisterWorkerRequest& request) override;
  absl::StatusOr<v1::WorkerBeatReply> WorkerBeat(const v1::WorkerBeatRequest& request) override;
  absl::StatusOr<v1::LeaseSplitsReply> LeaseSplits(const v1::LeaseSplitsRequest& request) override;
  absl::StatusOr<v1::ListJobsReply> ListJobs(const v1::ListJobsRequest& request) override;
  absl::StatusOr<v1::ListWorkersReply> ListWorkers(const v1::ListWorkersRequest& request) override;
  absl::StatusOr<v1::CancelJobReply> CancelJob(const v1::CancelJobRequest& request) override;
  absl::StatusOr<v1::DrainWorkerReply> DrainWorker(const v1::DrainWorkerRequest& request) override;
  absl::StatusOr<v1::ReleaseJobReply> ReleaseJob(const v1::ReleaseJobRequest& request) override;

  absl::StatusOr<v1::ObserveFleetReply> ObserveFleet(
      const v1::ObserveFleetRequest& request) override;
  absl::StatusOr<v1::ReportLoadReply> ReportLoad(const v1::ReportLoadRequest& request) override;

  // Not OK once the journal failed: for health probes.
  absl::Status health() const;
  // Equal states have equal dumps.
  std::string Dump() const;

 private:
  // Runs `op(context)` under the mutex and waits until its events are durable.
  template <typename Op>
  auto Run(Op&& op) -> decltype(op(std::declval<dispatch::OpContext&>()));
  absl::Status WaitDurable(uint64_t position);

  const DispatcherConfig config_;
  const Deps deps_;
  FleetBoard board_;
  absl::Mutex compaction_;  // before mutex_: the journal takes one snapshot at a time
  mutable absl::Mutex mutex_;
  dispatch::State state_ ABSL_GUARDED_BY(mutex_);
  dispatch::Liveness liveness_ ABSL_GUARDED_BY(mutex_);
  dispatch::Telemetry telemetry_ ABSL_GUARDED_BY(mutex_);
  dispatch::Stragglers stragglers_ ABSL_GUARDED_BY(mutex_);
  dispatch::Restores restores_ ABSL_GUARDED_BY(mutex_);
  dispatch::Holdings holdings_ ABSL_GUARDED_BY(mutex_);
  absl::Status journal_failure_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headrace
