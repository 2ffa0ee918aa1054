// DispatcherHandler that answers every call with UNIMPLEMENTED and the method's name; tests
// override what they look at. No binary links it.
#pragma once

#include "common/status.h"
#include "rpc/dispatcher_handler.h"

namespace headrace {

class FakeDispatcherHandler : public DispatcherHandler {
 public:
  absl::StatusOr<v1::OpenJobReply> OpenJob(const v1::OpenJobRequest&) override {
    return Unimplemented("OpenJob");
  }
  absl::StatusOr<v1::StartEpochReply> StartEpoch(const v1::StartEpochRequest&) override {
    return Unimplemented("StartEpoch");
  }
  absl::StatusOr<v1::ClientBeatReply> ClientBeat(const v1::ClientBeatRequest&) override {
    return Unimplemented("ClientBeat");
  }
  absl::StatusOr<v1::CloseClientReply> CloseClient(const v1::CloseClientRequest&) override {
    return Unimplemented("CloseClient");
  }
  absl::StatusOr<v1::RegisterWorkerReply> RegisterWorker(
      const v1::RegisterWorkerRequest&) override {
    return Unimplemented("RegisterWorker");
  }
  absl::StatusOr<v1::WorkerBeatReply> WorkerBeat(const v1::WorkerBeatRequest&) override {
    return Unimplemented("WorkerBeat");
  }
  absl::StatusOr<v1::LeaseSplitsReply> LeaseSplits(const v1::LeaseSplitsRequest&) override {
    return Unimplemented("LeaseSplits");
  }
  absl::StatusOr<v1::ListJobsReply> ListJobs(const v1::ListJobsRequest&) override {
    return Unimplemented("ListJobs");
  }
  absl::StatusOr<v1::ListWorkersReply> ListWorkers(const v1::ListWorkersRequest&) override {
    return Unimplemented("ListWorkers");
  }
  absl::StatusOr<v1::CancelJobReply> CancelJob(const v1::CancelJobRequest&) override {
    return Unimplemented("CancelJob");
  }
  absl::StatusOr<v1::DrainWorkerReply> DrainWorker(const v1::DrainWorkerRequest&) override {
    return Unimplemented("DrainWorker");
  }
  absl::StatusOr<v1::RestoreJobReply> RestoreJob(const v1::RestoreJobRequest&) override {
    return Unimplemented("RestoreJob");
  }
  absl::StatusOr<v1::ReleaseJobReply> ReleaseJob(const v1::ReleaseJobRequest&) override {
    return Unimplemented("ReleaseJob");
  }
};

}  // namespace headrace
