// What a dispatcher that shares its work with others (journal driver etcd) puts on its port: passes
// calls to the service while it leads, and answers "not the leader" with the leader's address while
// it does not. Owned by Dispatcher; opened and closed by its Candidate; thread-safe.
#pragma once

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "rpc/dispatcher_handler.h"
#include "rpc/fleet_calls.h"

namespace headrace {

class LeaderGate final : public DispatcherHandler, public FleetHandler {
 public:
  // From now on calls reach `service`, which is held by each call that runs in it.
  // `fleet`: the same service's other face.
  void Open(std::shared_ptr<DispatcherHandler> service, std::shared_ptr<FleetHandler> fleet);
  // From now on they do not. Calls that run in the service go on.
  void Close();
  // Who leads instead of us; empty: not known.
  void SetLeader(std::string leader);

  absl::StatusOr<v1::OpenJobReply> OpenJob(const v1::OpenJobRequest& request) override;
  absl::StatusOr<v1::StartEpochReply> StartEpoch(const v1::StartEpochRequest& request) override;
  absl::StatusOr<v1::ClientBeatReply> ClientBeat(const v1::ClientBeatRequest& request) override;
  absl::StatusOr<v1::CloseClientReply> CloseClient(const v1::CloseClientRequest& request) override;
  absl::StatusOr<v1::RegisterWorkerReply> RegisterWorker(
      const v1::RegisterWorkerRequest& request) override;
  absl::StatusOr<v1::WorkerBeatReply> WorkerBeat(const v1::WorkerBeatRequest& request) override;
  absl::StatusOr<v1::LeaseSplitsReply> LeaseSplits(const v1::LeaseSplitsRequest& request) override;
  absl::StatusOr<v1::RestoreJobReply> RestoreJob(const v1::RestoreJobRequest& request) override;
  absl::StatusOr<v1::ReleaseJobReply> ReleaseJob(const v1::ReleaseJobRequest& request) override;
  absl::StatusOr<v1::ListJobsReply> ListJobs(const v1::ListJobsRequest& request) override;
  absl::StatusOr<v1::ListWorkersReply> ListWorkers(const v1::ListWorkersRequest& request) override;
  absl::StatusOr<v1::CancelJobReply> CancelJob(const v1::CancelJobRequest& request) override;
  absl::StatusOr<v1::DrainWorkerReply> DrainWorker(const v1::DrainWorkerRequest& request) override;
  absl::StatusOr<v1::ObserveFleetReply> ObserveFleet(
      const v1::ObserveFleetRequest& request) override;
  absl::StatusOr<v1::ReportLoadReply> ReportLoad(const v1::ReportLoadRequest& request) override;

 private:
  // Face: one of the two that the service has.
  template <typename Face, typename Request, typename Reply>
  absl::StatusOr<Reply> Pass(absl::StatusOr<Reply> (Face::*method)(const Request&),
                             const Request& request);

  absl::Mutex mutex_;
  std::shared_ptr<DispatcherHandler> service_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<FleetHandler> fleet_ ABSL_GUARDED_BY(mutex_);
  std::string leader_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headrace
