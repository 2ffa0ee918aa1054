// How clients, workers and operators reach the dispatcher: one blocking method per RPC of
// dispatcher.proto. Three narrow faces, by who calls, and one for all: code takes the face it
// needs.
//
// Implementations: grpc_dispatcher_client.h (the network), fake_dispatcher_client.h (a handler
// object, with faults). Every method is thread-safe and returns within `timeout`. An error leaves
// behind nothing known: the call may or may not have happened; every call is idempotent, so it may
// be made again (common/sync/retry.h).
#pragma once

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "headrace/v1/dispatcher.pb.h"

namespace headrace {

// What a client calls.
class ConsumerCalls {
 public:
  virtual ~ConsumerCalls() = default;
  virtual absl::StatusOr<v1::OpenJobReply> OpenJob(const v1::OpenJobRequest& request,
                                                   absl::Duration timeout) = 0;
  virtual absl::StatusOr<v1::StartEpochReply> StartEpoch(const v1::StartEpochRequest& request,
                                                         absl::Duration timeout) = 0;
  virtual absl::StatusOr<v1::ClientBeatReply> ClientBeat(const v1::ClientBeatRequest& request,
                                                         absl::Duration timeout) = 0;
  virtual absl::StatusOr<v1::CloseClientReply> CloseClient(const v1::CloseClientRequest& request,
                                                           absl::Duration timeout) = 0;
  virtual absl::StatusOr<v1::RestoreJobReply> RestoreJob(const v1::RestoreJobRequest& request,
                                                         absl::Duration timeout) = 0;
};

// What a worker calls.
class WorkerCalls {
 public:
  virtual ~WorkerCalls() = default;
  virtual absl::StatusOr<v1::RegisterWorkerReply> RegisterWorker(
      const v1::RegisterWorkerRequest& request, absl::Duration timeout) = 0;
  virtual absl::StatusOr<v1::WorkerBeatReply> WorkerBeat(const v1::WorkerBeatRequest& request,
                                                         absl::Duration timeout) = 0;
  virtual absl::StatusOr<v1::LeaseSplitsReply> LeaseSplits(const v1::LeaseSplitsRequest& request,
                                                           absl::Duration timeout) = 0;
};

// What the command line, the orchestrator and the dashboard call.
class OperatorCalls {
 public:
  virtual ~OperatorCalls() = default;
  virtual absl::StatusOr<v1::ListJobsReply> ListJobs(const v1::ListJobsRequest& request,
                                                     absl::Duration timeout) = 0;
  virtual absl::StatusOr<v1::ListWorkersReply> ListWorkers(const v1::ListWorkersRequest& request,
                                                           absl::Duration timeout) = 0;
  virtual absl::StatusOr<v1::CancelJobReply> CancelJob(const v1::CancelJobRequest& request,
                                                       absl::Duration timeout) = 0;
  virtual absl::StatusOr<v1::DrainWorkerReply> DrainWorker(const v1::DrainWorkerRequest& request,
                                                           absl::Duration timeout) = 0;
  virtual absl::StatusOr<v1::ReleaseJobReply> ReleaseJob(const v1::ReleaseJobRequest& request,
                                                         absl::Duration timeout) = 0;
};

class DispatcherClient : public ConsumerCalls, public WorkerCalls, public OperatorCalls {};

}  // namespace headrace
