#include "rpc/grpc_dispatcher_client.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "common/status.h"
#include "headrace/v1/dispatcher.grpc.pb.h"
#include "rpc/call_security.h"
#include "rpc/channels.h"
#include "rpc/grpc_status.h"
#include "rpc/leader_redirect.h"

namespace headrace {
namespace {

class GrpcDispatcherClient final : public DispatcherClient {
 public:
  GrpcDispatcherClient(std::shared_ptr<grpc::Channel> channel, std::string address,
                       const Clock& clock, CallObserver observer,
                       const GrpcDispatcherClientOptions& options)
      : channel_(std::move(channel)),
        stub_(v1::Dispatcher::NewStub(channel_)),
        address_(std::move(address)),
        clock_(clock),
        observer_(std::move(observer)),
        options_(options) {}

  absl::StatusOr<v1::OpenJobReply> OpenJob(const v1::OpenJobRequest& request,
                                           absl::Duration timeout) override {
    return Call("OpenJob", &v1::Dispatcher::Stub::OpenJob, request, timeout);
  }
  absl::StatusOr<v1::StartEpochReply> StartEpoch(const v1::StartEpochRequest& request,
                                                 absl::Duration timeout) override {
    return Call("StartEpoch", &v1::Dispatcher::Stub::StartEpoch, request, timeout);
  }
  absl::StatusOr<v1::ClientBeatReply> ClientBeat(const v1::ClientBeatRequest& request,
                                                 absl::Duration timeout) override {
    return Call("ClientBeat", &v1::Dispatcher::Stub::ClientBeat, request, timeout);
  }
  absl::StatusOr<v1::CloseClientReply> CloseClient(const v1::CloseClientRequest& request,
                                                   absl::Duration timeout) override {
    return Call("CloseClient", &v1::Dispatcher::Stub::CloseClient, request, timeout);
  }
  absl::StatusOr<v1::RegisterWorkerReply> RegisterWorker(const v1::RegisterWorkerRequest& request,
                                                         absl::Duration timeout) override {
    return Call("RegisterWorker", &v1::Dispatcher::Stub::RegisterWorker, request, timeout);
  }
  absl::StatusOr<v1::WorkerBeatReply> WorkerBeat(const v1::WorkerBeatRequest& request,
                                                 absl::Duration timeout) override {
    return Call("WorkerBeat", &v1::Dispatcher::Stub::WorkerBeat, request, timeout);
  }
  absl::StatusOr<v1::LeaseSplitsReply> LeaseSplits(const v1::LeaseSplitsRequest& request,
                                                   absl::Duration timeout) override {
    return Call("LeaseSplits", &v1::Dispatcher::Stub::LeaseSplits, request, timeout);
  }
  absl::StatusOr<v1::ListJobsReply> ListJobs(const v1::ListJobsRequest& request,
                                             absl::Duration timeout) override {
    return Call("ListJobs", &v1::Dispatcher::Stub::ListJobs, request, timeout);
  }
  absl::StatusOr<v1::ListWorkersReply> ListWorkers(const v1::ListWorkersRequest& request,
                                                   absl::Duration timeout) override {
    return Call("ListWorkers", &v1::Dispatcher::Stub::ListWorkers, request, timeout);
  }
  absl::StatusOr<v1::CancelJobReply> CancelJob(const v1::CancelJobRequest& request,
                                               absl::Duration timeout) override {
    return Call("CancelJob", &v1::Dispatcher::Stub::CancelJob, request, timeout);
  }
  absl::StatusOr<v1::DrainWorkerReply> DrainWorker(const v1::DrainWorkerRequest& request,
                                                   absl::Duration timeout) override {
    return Call("DrainWorker", &v1::Dispatcher::Stub::DrainWorker, request, timeout);
  }
  absl::StatusOr<v1::RestoreJobReply> RestoreJob(const v1::RestoreJobRequest& request,
                                                 absl::Duration timeout) override {
    return Call("RestoreJob", &v1::Dispatcher::Stub::RestoreJob, request, timeout);
  }
  absl::StatusOr<v1::ReleaseJobReply> ReleaseJob(const v1::ReleaseJobRequest& request,
                                                 absl::Duration timeout) override {
    return Call("ReleaseJob", &v1::Dispatcher::Stub::ReleaseJob, request, timeout);
  }

 private:
  template <typename Request, typename Reply>
  absl::StatusOr<Reply> Call(std::string_view method,
                             grpc::Status (v1::Dispatcher::Stub::*call)(grpc::ClientContext*,
                                                                        const Request&, Reply*),
                             const Request& request, absl::Duration timeout) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + timeout));
    if (!options_.token.empty()) context.AddMetadata("authorization", options_.token);
    const absl::Duration started = clock_.Steady();
    HelpConnect(*channel_, std::min(timeout, kConnectPatience));
    Reply reply;
    const absl::Status status =
        WithLeader(FromGrpcStatus((stub_.get()->*call)(&context, request, &reply)), context);
    if (observer_) observer_(method, clock_.Steady() - started, status.code());
    if (!status.ok()) {
      return Annotate(WithTlsAdvice(status, options_.encrypted),
                      fmt::format("dispatcher {}", address_));
    }
    return reply;
  }

  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::Dispatcher::Stub> stub_;
  const std::string address_;
  const Clock& clock_;
  const CallObserver observer_;
  const GrpcDispatcherClientOptions options_;
};

}  // namespace

std::unique_ptr<DispatcherClient> MakeGrpcDispatcherClient(
    std::shared_ptr<grpc::Channel> channel, std::string address, const Clock& clock,
    CallObserver observer, const GrpcDispatcherClientOptions& options) {
  return std::make_unique<GrpcDispatcherClient>(std::move(channel), std::move(address), clock,
                                                std::move(observer), options);
}

}  // namespace headrace
