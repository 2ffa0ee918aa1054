// The dispatcher's side of its RPCs: a method per RPC, without a network. The dispatcher's service
// implements it; GrpcDispatcherService (rpc/grpc_dispatcher_service.h) puts it on a port,
// FakeDispatcherClient calls it directly. Methods are called by many threads at once.
#pragma once

#include "absl/status/statusor.h"
#include "headrace/v1/dispatcher.pb.h"

namespace headrace {

class DispatcherHandler {
 public:
  virtual ~DispatcherHandler() = default;
  virtual absl::StatusOr<v1::OpenJobReply> OpenJob(const v1::OpenJobRequest& request) = 0;
  virtual absl::StatusOr<v1::StartEpochReply> StartEpoch(const v1::StartEpochRequest& request) = 0;
  virtual absl::StatusOr<v1::ClientBeatReply> ClientBeat(const v1::ClientBeatRequest& request) = 0;
  virtual absl::StatusOr<v1::CloseClientReply> CloseClient(
      const v1::CloseClientRequest& request) = 0;
  virtual absl::StatusOr<v1::RestoreJobReply> RestoreJob(const v1::RestoreJobRequest& request) = 0;
  virtual absl::StatusOr<v1::RegisterWorkerReply> RegisterWorker(
      const v1::RegisterWorkerRequest& request) = 0;
  virtual absl::StatusOr<v1::WorkerBeatReply> WorkerBeat(const v1::WorkerBeatRequest& request) = 0;
  virtual absl::StatusOr<v1::LeaseSplitsReply> LeaseSplits(
      const v1::LeaseSplitsRequest& request) = 0;
  virtual absl::StatusOr<v1::ListJobsReply> ListJobs(const v1::ListJobsRequest& request) = 0;
  virtual absl::StatusOr<v1::ListWorkersReply> ListWorkers(
      const v1::ListWorkersRequest& request) = 0;
  virtual absl::StatusOr<v1::CancelJobReply> CancelJob(const v1::CancelJobRequest& request) = 0;
  virtual absl::StatusOr<v1::DrainWorkerReply> DrainWorker(
      const v1::DrainWorkerRequest& request) = 0;
  virtual absl::StatusOr<v1::ReleaseJobReply> ReleaseJob(const v1::ReleaseJobRequest& request) = 0;
};

}  // namespace headrace
