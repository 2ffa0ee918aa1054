#include <algorithm>
#include <exception>
#include <map>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "common/status.h"
#include "grpcpp/grpcpp.h"
#include "headrace/v1/fleet.grpc.pb.h"
#include "rpc/call_security.h"
#include "rpc/channels.h"
#include "rpc/failover_dispatcher_client.h"
#include "rpc/fleet_calls.h"
#include "rpc/grpc_status.h"
#include "rpc/leader_redirect.h"

namespace headrace {
namespace {

class GrpcFleetService final : public v1::Fleet::Service {
 public:
  GrpcFleetService(FleetHandler& handler, std::string token)
      : handler_(handler), token_(std::move(token)) {}

  grpc::Status ObserveFleet(grpc::ServerContext* context, const v1::ObserveFleetRequest* request,
                            v1::ObserveFleetReply* reply) override {
    return Handle(&FleetHandler::ObserveFleet, *request, *reply, *context);
  }
  grpc::Status ReportLoad(grpc::ServerContext* context, const v1::ReportLoadRequest* request,
                          v1::ReportLoadReply* reply) override {
    return Handle(&FleetHandler::ReportLoad, *request, *reply, *context);
  }

 private:
  template <typename Request, typename Reply>
  grpc::Status Handle(absl::StatusOr<Reply> (FleetHandler::*handle)(const Request&),
                      const Request& request, Reply& reply, grpc::ServerContext& context) {
    absl::StatusOr<Reply> answer = absl::UnknownError("");
    try {
      const absl::Status admitted = CheckToken(token_, context);
      answer = admitted.ok() ? (handler_.*handle)(request) : admitted;
    } catch (const std::exception& error) {
      answer = Internal("fleet: {}", error.what());
    }
    if (!answer.ok()) {
      SendLeader(answer.status(), context);
      return ToGrpcStatus(answer.status());
    }
    reply = *std::move(answer);
    return grpc::Status::OK;
  }

  FleetHandler& handler_;
  const std::string token_;
};

class GrpcFleetClient final : public FleetCalls {
 public:
  GrpcFleetClient(std::vector<std::string> addresses, const Clock& clock,
                  const ChannelOptions& options)
      : addresses_(std::move(addresses)),
        clock_(clock),
        options_(options),
        current_(addresses_.front()) {}

  absl::StatusOr<v1::ObserveFleetReply> ObserveFleet(const v1::ObserveFleetRequest& request,
                                                     absl::Duration timeout) override {
    return Call(&v1::Fleet::Stub::ObserveFleet, request, timeout);
  }
  absl::StatusOr<v1::ReportLoadReply> ReportLoad(const v1::ReportLoadRequest& request,
                                                 absl::Duration timeout) override {
    return Call(&v1::Fleet::Stub::ReportLoad, request, timeout);
  }

 private:
  using Stub = v1::Fleet::Stub;

  std::pair<std::string, std::shared_ptr<Stub>> Current() {
    absl::MutexLock lock(&mutex_);
    std::shared_ptr<Stub>& stub = stubs_[current_];
    if (stub == nullptr) stub = v1::Fleet::NewStub(MakeChannel(current_, options_));
    return {current_, stub};
  }
  // After `failed` answered with `status`: the leader that it named, or the next one.
  void GoOn(const std::string& failed, const absl::Status& status) {
    const std::string leader = LeaderNamedBy(status).value_or("");
    absl::MutexLock lock(&mutex_);
    if (current_ != failed) return;  // another thread has
    const auto at = std::find(addresses_.begin(), addresses_.end(), failed);
    if (!leader.empty() && leader != failed && CheckAddress(leader).ok()) {
      current_ = leader;
    } else if (at == addresses_.end() || at + 1 == addresses_.end()) {
      current_ = addresses_.front();
    } else {
      current_ = *(at + 1);
    }
  }
  // Each address once at most; every call is idempotent.
  template <typename Request, typename Reply>
  absl::StatusOr<Reply> Call(grpc::Status (Stub::*call)(grpc::ClientContext*, const Request&,
                                                        Reply*),
                             const Request& request, absl::Duration timeout) {
    const absl::Duration deadline = clock_.Steady() + timeout;
    absl::Status status;
    for (size_t tries = 0; tries <= addresses_.size(); ++tries) {
      const absl::Duration left = deadline - clock_.Steady();
      if (left <= absl::ZeroDuration()) break;
      const auto [address, stub] = Current();
      grpc::ClientContext context;
      context.set_deadline(absl::ToChronoTime(absl::Now() + left));
      if (!options_.token.empty()) context.AddMetadata("authorization", options_.token);
      Reply reply;
      const absl::Status answer = WithTlsAdvice(
          WithLeader(FromGrpcStatus((stub.get()->*call)(&context, request, &reply)), context),
          options_.credentials != nullptr);
      if (answer.ok()) return reply;
      status = Annotate(answer, fmt::format("dispatcher {}", address));
      if (!absl::IsUnavailable(answer) && !absl::IsDeadlineExceeded(answer) &&
          !absl::IsCancelled(answer)) {
        return status;
      }
      GoOn(address, answer);
    }
    return status.ok() ? DeadlineExceeded("the dispatcher was not asked in time") : status;
  }

  const std::vector<std::string> addresses_;
  const Clock& clock_;
  const ChannelOptions options_;
  absl::Mutex mutex_;
  std::string current_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::shared_ptr<Stub>> stubs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<grpc::Service> MakeGrpcFleetService(FleetHandler& handler, std::string token) {
  return std::make_unique<GrpcFleetService>(handler, std::move(token));
}

absl::StatusOr<std::unique_ptr<FleetCalls>> DialFleet(std::string_view dispatchers,
                                                      const Clock& clock,
                                                      const ChannelOptions& options) {
  HR_ASSIGN_OR_RETURN(std::vector<std::string> addresses, ParseDispatchers(dispatchers));
  return std::make_unique<GrpcFleetClient>(std::move(addresses), clock, options);
}

}  // namespace headrace
