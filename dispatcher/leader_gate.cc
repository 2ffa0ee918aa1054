#include "dispatcher/leader_gate.h"

#include <type_traits>
#include <utility>

#include "rpc/leader_redirect.h"

namespace headrace {

void LeaderGate::Open(std::shared_ptr<DispatcherHandler> service,
                      std::shared_ptr<FleetHandler> fleet) {
  absl::MutexLock lock(&mutex_);
  service_ = std::move(service);
  fleet_ = std::move(fleet);
  leader_.clear();
}

void LeaderGate::Close() {
  absl::MutexLock lock(&mutex_);
  service_ = nullptr;
  fleet_ = nullptr;
}

void LeaderGate::SetLeader(std::string leader) {
  absl::MutexLock lock(&mutex_);
  leader_ = std::move(leader);
}

template <typename Face, typename Request, typename Reply>
absl::StatusOr<Reply> LeaderGate::Pass(absl::StatusOr<Reply> (Face::*method)(const Request&),
                                       const Request& request) {
  std::shared_ptr<Face> service;
  {
    absl::MutexLock lock(&mutex_);
    if (service_ == nullptr) return NotTheLeader(leader_);
    if constexpr (std::is_same_v<Face, FleetHandler>) {
      service = fleet_;
    } else {
      service = service_;
    }
  }
  absl::StatusOr<Reply> reply = (service.get()->*method)(request);
  if (LeaderNamedBy(reply.status()).has_value()) {
    // The term ended while the call ran. By now more may be known.
    absl::MutexLock lock(&mutex_);
    return NotTheLeader(leader_);
  }
  return reply;
}

absl::StatusOr<v1::OpenJobReply> LeaderGate::OpenJob(const v1::OpenJobRequest& request) {
  return Pass(&DispatcherHandler::OpenJob, request);
}

absl::StatusOr<v1::StartEpochReply> LeaderGate::StartEpoch(const v1::StartEpochRequest& request) {
  return Pass(&DispatcherHandler::StartEpoch, request);
}

absl::StatusOr<v1::ClientBeatReply> LeaderGate::ClientBeat(const v1::ClientBeatRequest& request) {
  return Pass(&DispatcherHandler::ClientBeat, request);
}

absl::StatusOr<v1::CloseClientReply> LeaderGate::CloseClient(
    const v1::CloseClientRequest& request) {
  return Pass(&DispatcherHandler::CloseClient, request);
}

absl::StatusOr<v1::RegisterWorkerReply> LeaderGate::RegisterWorker(
    const v1::RegisterWorkerRequest& request) {
  return Pass(&DispatcherHandler::RegisterWorker, request);
}

absl::StatusOr<v1::WorkerBeatReply> LeaderGate::WorkerBeat(const v1::WorkerBeatRequest& request) {
  return Pass(&DispatcherHandler::WorkerBeat, request);
}

absl::StatusOr<v1::LeaseSplitsReply> LeaderGate::LeaseSplits(
    const v1::LeaseSplitsRequest& request) {
  return Pass(&DispatcherHandler::LeaseSplits, request);
}

absl::StatusOr<v1::RestoreJobReply> LeaderGate::RestoreJob(const v1::RestoreJobRequest& request) {
  return Pass(&DispatcherHandler::RestoreJob, request);
}

absl::StatusOr<v1::ReleaseJobReply> LeaderGate::ReleaseJob(const v1::ReleaseJobRequest& request) {
  return Pass(&DispatcherHandler::ReleaseJob, request);
}

absl::StatusOr<v1::ListJobsReply> LeaderGate::ListJobs(const v1::ListJobsRequest& request) {
  return Pass(&DispatcherHandler::ListJobs, request);
}

absl::StatusOr<v1::ListWorkersReply> LeaderGate::ListWorkers(
    const v1::ListWorkersRequest& request) {
  return Pass(&DispatcherHandler::ListWorkers, request);
}

absl::StatusOr<v1::CancelJobReply> LeaderGate::CancelJob(const v1::CancelJobRequest& request) {
  return Pass(&DispatcherHandler::CancelJob, request);
}

absl::StatusOr<v1::DrainWorkerReply> LeaderGate::DrainWorker(
    const v1::DrainWorkerRequest& request) {
  return Pass(&DispatcherHandler::DrainWorker, request);
}

absl::StatusOr<v1::ObserveFleetReply> LeaderGate::ObserveFleet(
    const v1::ObserveFleetRequest& request) {
  return Pass(&FleetHandler::ObserveFleet, request);
}

absl::StatusOr<v1::ReportLoadReply> LeaderGate::ReportLoad(const v1::ReportLoadRequest& request) {
  return Pass(&FleetHandler::ReportLoad, request);
}

}  // namespace headrace
