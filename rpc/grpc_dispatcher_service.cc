#include "rpc/grpc_dispatcher_service.h"

#include <exception>
#include <utility>

#include "common/status.h"
#include "headrace/v1/dispatcher.grpc.pb.h"
#include "rpc/call_security.h"
#include "rpc/grpc_status.h"
#include "rpc/leader_redirect.h"

namespace headrace {
namespace {

class GrpcDispatcherService final : public v1::Dispatcher::Service {
 public:
  GrpcDispatcherService(DispatcherHandler& handler, const Clock& clock, CallObserver observer,
                        std::string token)
      : handler_(handler),
        clock_(clock),
        observer_(std::move(observer)),
        token_(std::move(token)) {}

  grpc::Status OpenJob(grpc::ServerContext* context, const v1::OpenJobRequest* request,
                       v1::OpenJobReply* reply) override {
    return Handle("OpenJob", &DispatcherHandler::OpenJob, *request, *reply, *context);
  }
  grpc::Status StartEpoch(grpc::ServerContext* context, const v1::StartEpochRequest* request,
                          v1::StartEpochReply* reply) override {
    return Handle("StartEpoch", &DispatcherHandler::StartEpoch, *request, *reply, *context);
  }
  grpc::Status ClientBeat(grpc::ServerContext* context, const v1::ClientBeatRequest* request,
                          v1::ClientBeatReply* reply) override {
    return Handle("ClientBeat", &DispatcherHandler::ClientBeat, *request, *reply, *context);
  }
  grpc::Status CloseClient(grpc::ServerContext* context, const v1::CloseClientRequest* request,
                           v1::CloseClientReply* reply) override {
    return Handle("CloseClient", &DispatcherHandler::CloseClient, *request, *reply, *context);
  }
  grpc::Status RegisterWorker(grpc::ServerContext* context,
                              const v1::RegisterWorkerRequest* request,
                              v1::RegisterWorkerReply* reply) override {
    return Handle("RegisterWorker", &DispatcherHandler::RegisterWorker, *request, *reply, *context);
  }
  grpc::Status WorkerBeat(grpc::ServerContext* context, const v1::WorkerBeatRequest* request,
                          v1::WorkerBeatReply* reply) override {
    return Handle("WorkerBeat", &DispatcherHandler::WorkerBeat, *request, *reply, *context);
  }
  grpc::Status LeaseSplits(grpc::ServerContext* context, const v1::LeaseSplitsRequest* request,
                           v1::LeaseSplitsReply* reply) override {
    return Handle("LeaseSplits", &DispatcherHandler::LeaseSplits, *request, *reply, *context);
  }
  grpc::Status ListJobs(grpc::ServerContext* context, const v1::ListJobsRequest* request,
                        v1::ListJobsReply* reply) override {
    return Handle("ListJobs", &DispatcherHandler::ListJobs, *request, *reply, *context);
  }
  grpc::Status ListWorkers(grpc::ServerContext* context, const v1::ListWorkersRequest* request,
                           v1::ListWorkersReply* reply) override {
    return Handle("ListWorkers", &DispatcherHandler::ListWorkers, *request, *reply, *context);
  }
  grpc::Status CancelJob(grpc::ServerContext* context, const v1::CancelJobRequest* request,
                         v1::CancelJobReply* reply) override {
    return Handle("CancelJob", &DispatcherHandler::CancelJob, *request, *reply, *context);
  }
  grpc::Status DrainWorker(grpc::ServerContext* context, const v1::DrainWorkerRequest* request,
                           v1::DrainWorkerReply* reply) override {
    return Handle("DrainWorker", &DispatcherHandler::DrainWorker, *request, *reply, *context);
  }
  grpc::Status RestoreJob(grpc::ServerContext* context, const v1::RestoreJobRequest* request,
                          v1::RestoreJobReply* reply) override {
    return Handle("RestoreJob", &DispatcherHandler::RestoreJob, *request, *reply, *context);
  }
  grpc::Status ReleaseJob(grpc::ServerContext* context, const v1::ReleaseJobRequest* request,
                          v1::ReleaseJobReply* reply) override {
    return Handle("ReleaseJob", &DispatcherHandler::ReleaseJob, *request, *reply, *context);
  }

 private:
  template <typename Request, typename Reply>
  grpc::Status Handle(std::string_view method,
                      absl::StatusOr<Reply> (DispatcherHandler::*handle)(const Request&),
                      const Request& request, Reply& reply, grpc::ServerContext& context) {
    const absl::Duration started = clock_.Steady();
    absl::StatusOr<Reply> answer = absl::UnknownError("");
    try {
      const absl::Status admitted = CheckToken(token_, context);
      answer = admitted.ok() ? (handler_.*handle)(request) : admitted;
    } catch (const std::exception& error) {
      answer = Internal("{}: {}", method, error.what());
    }
    if (observer_) observer_(method, clock_.Steady() - started, answer.status().code());
    if (!answer.ok()) {
      SendLeader(answer.status(), context);
      return ToGrpcStatus(answer.status());
    }
    reply = *std::move(answer);
    return grpc::Status::OK;
  }

  DispatcherHandler& handler_;
  const Clock& clock_;
  const CallObserver observer_;
  const std::string token_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeGrpcDispatcherService(DispatcherHandler& handler,
                                                         const Clock& clock, CallObserver observer,
                                                         std::string token) {
  return std::make_unique<GrpcDispatcherService>(handler, clock, std::move(observer),
                                                 std::move(token));
}

}  // namespace headrace
