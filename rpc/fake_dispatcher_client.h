// DispatcherClient that calls a handler object in the same thread, and loses or doubles what its
// faults say. For tests; no binary links it. (Delay and reordering need a scheduler: tests/sim
// moves messages itself.)
#pragma once

#include <functional>
#include <string_view>
#include <utility>

#include "common/status.h"
#include "rpc/dispatcher_client.h"
#include "rpc/dispatcher_handler.h"

namespace headrace {

struct CallFault {
  bool lose_request = false;  // the handler never sees it; the caller gets UNAVAILABLE
  bool lose_reply = false;    // the handler sees it; the caller gets DEADLINE_EXCEEDED
  bool twice = false;         // the handler sees it twice; the caller gets the second answer
};

class FakeDispatcherClient final : public DispatcherClient {
 public:
  // Asked before each call, with the method's name. Null: no faults.
  using Faults = std::function<CallFault(std::string_view method)>;

  explicit FakeDispatcherClient(DispatcherHandler& handler, Faults faults = nullptr)
      : handler_(&handler), faults_(std::move(faults)) {}

  // From now on calls reach `handler` (a restarted dispatcher); null: all fail with UNAVAILABLE.
  void Connect(DispatcherHandler* handler) { handler_ = handler; }

  absl::StatusOr<v1::OpenJobReply> OpenJob(const v1::OpenJobRequest& request,
                                           absl::Duration) override {
    return Call("OpenJob", &DispatcherHandler::OpenJob, request);
  }
  absl::StatusOr<v1::StartEpochReply> StartEpoch(const v1::StartEpochRequest& request,
                                                 absl::Duration) override {
    return Call("StartEpoch", &DispatcherHandler::StartEpoch, request);
  }
  absl::StatusOr<v1::ClientBeatReply> ClientBeat(const v1::ClientBeatRequest& request,
                                                 absl::Duration) override {
    return Call("ClientBeat", &DispatcherHandler::ClientBeat, request);
  }
  absl::StatusOr<v1::CloseClientReply> CloseClient(const v1::CloseClientRequest& request,
                                                   absl::Duration) override {
    return Call("CloseClient", &DispatcherHandler::CloseClient, request);
  }
  absl::StatusOr<v1::RegisterWorkerReply> RegisterWorker(const v1::RegisterWorkerRequest& request,
                                                         absl::Duration) override {
    return Call("RegisterWorker", &DispatcherHandler::RegisterWorker, request);
  }
  absl::StatusOr<v1::WorkerBeatReply> WorkerBeat(const v1::WorkerBeatRequest& request,
                                                 absl::Duration) override {
    return Call("WorkerBeat", &DispatcherHandler::WorkerBeat, request);
  }
  absl::StatusOr<v1::LeaseSplitsReply> LeaseSplits(const v1::LeaseSplitsRequest& request,
                                                   absl::Duration) override {
    return Call("LeaseSplits", &DispatcherHandler::LeaseSplits, request);
  }
  absl::StatusOr<v1::ListJobsReply> ListJobs(const v1::ListJobsRequest& request,
                                             absl::Duration) override {
    return Call("ListJobs", &DispatcherHandler::ListJobs, request);
  }
  absl::StatusOr<v1::ListWorkersReply> ListWorkers(const v1::ListWorkersRequest& request,
                                                   absl::Duration) override {
    return Call("ListWorkers", &DispatcherHandler::ListWorkers, request);
  }
  absl::StatusOr<v1::CancelJobReply> CancelJob(const v1::CancelJobRequest& request,
                                               absl::Duration) override {
    return Call("CancelJob", &DispatcherHandler::CancelJob, request);
  }
  absl::StatusOr<v1::DrainWorkerReply> DrainWorker(const v1::DrainWorkerRequest& request,
                                                   absl::Duration) override {
    return Call("DrainWorker", &DispatcherHandler::DrainWorker, request);
  }
  absl::StatusOr<v1::RestoreJobReply> RestoreJob(const v1::RestoreJobRequest& request,
                                                 absl::Duration) override {
    return Call("RestoreJob", &DispatcherHandler::RestoreJob, request);
  }
  absl::StatusOr<v1::ReleaseJobReply> ReleaseJob(const v1::ReleaseJobRequest& request,
                                                 absl::Duration) override {
    return Call("ReleaseJob", &DispatcherHandler::ReleaseJob, request);
  }

 private:
  template <typename Request, typename Reply>
  absl::StatusOr<Reply> Call(std::string_view method,
                             absl::StatusOr<Reply> (DispatcherHandler::*handle)(const Request&),
                             const Request& request) {
    const CallFault fault = faults_ ? faults_(method) : CallFault();
    if (handler_ == nullptr || fault.lose_request) return Unavailable("{}: request lost", method);
    if (fault.twice) (void)(handler_->*handle)(request);
    absl::StatusOr<Reply> reply = (handler_->*handle)(request);
    if (fault.lose_reply) return DeadlineExceeded("{}: reply lost", method);
    return reply;
  }

  DispatcherHandler* handler_;
  Faults faults_;
};

}  // namespace headrace
