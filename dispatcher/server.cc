#include "dispatcher/server.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <utility>

#include "absl/time/clock.h"
#include "common/logging/logging.h"
#include "common/net_address.h"
#include "common/status.h"
#include "dispatcher/journal/memory_journal.h"
#include "rpc/grpc_dispatcher_service.h"

namespace headrace {
namespace {

// gRPC takes a socket file over from whoever listens there: ask first. A file that nobody answers
// at is a dead process's, and replaced.
bool SomebodyAnswersAt(const std::string& path) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  const bool answers =
      connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  close(fd);
  return answers;
}

uint64_t RandomId() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32) | device() | 1;
}

}  // namespace

Dispatcher::Dispatcher(const DispatcherConfig& config, Deps deps)
    : config_(config),
      deps_(std::move(deps)),
      own_metrics_(deps_.metrics == nullptr ? std::make_unique<Metrics>("dispatcher") : nullptr),
      metrics_(deps_.metrics == nullptr ? *own_metrics_ : *deps_.metrics) {
  if (deps_.clock == nullptr) deps_.clock = &RealClock();
  if (deps_.journal == nullptr) deps_.journal = std::make_unique<MemoryJournal>();
  DispatcherService::Deps service;
  service.journal = deps_.journal.get();
  service.resolver = deps_.resolver.get();
  service.clock = deps_.clock;
  service.metrics = &metrics_;
  service.new_cluster = RandomId();
  service_ = std::make_unique<DispatcherService>(config_, service);
}

absl::StatusOr<std::unique_ptr<Dispatcher>> Dispatcher::Start(const DispatcherConfig& config,
                                                              Deps deps) {
  std::unique_ptr<Dispatcher> dispatcher(new Dispatcher(config, std::move(deps)));
  if (absl::Status status = dispatcher->service_->Recover(); !status.ok()) {
    return Annotate(status, "dispatcher: replaying the journal");
  }
  HR_RETURN_IF_ERROR(dispatcher->Listen());
  dispatcher->duties_ = std::make_unique<PeriodicTask>(
      "hr-disp-duties", config.background_period,
      [service = dispatcher->service_.get()] { service->RunDuties(); });
  dispatcher->snapshots_ = std::make_unique<PeriodicTask>(
      "hr-disp-snap", absl::Seconds(1),
      [service = dispatcher->service_.get()] { service->CompactIfWorthwhile(); });
  LogInfo("dispatcher listens on {}", dispatcher->address_);
  return dispatcher;
}

absl::Status Dispatcher::Listen() {
  absl::StatusOr<NetAddress> listen = ParseNetAddress(config_.listen);
  if (!listen.ok()) return Annotate(listen.status(), "dispatcher: listen");
  if (listen->is_unix() && SomebodyAnswersAt(listen->unix_path)) {
    return FailedPrecondition(
        "dispatcher: {} is in use by another process; set listen to another "
        "path",
        config_.listen);
  }
  grpc_service_ = MakeGrpcDispatcherService(
      *service_, *deps_.clock,
      [this](std::string_view method, absl::Duration took, absl::StatusCode code) {
        metrics_.ObserveCall(method, took, code);
      });
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(
      config_.listen,
      deps_.credentials != nullptr ? deps_.credentials : grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(grpc_service_.get());
  builder.SetMaxReceiveMessageSize(static_cast<int>(config_.limits.max_message.value));
  builder.SetMaxSendMessageSize(static_cast<int>(config_.limits.max_message.value));
  // Without this two dispatchers could share a port, each seeing half of the calls.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // Clients ping every 20 s while a call is out (rpc/channels.h); gRPC's default would cut them
  // off.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5000);
  server_ = builder.BuildAndStart();
  if (server_ == nullptr || (!listen->is_unix() && port == 0)) {
    return FailedPrecondition(
        "dispatcher: cannot listen on {}: it is in use by another process, or "
        "not an address of this machine; set listen to another one, or to "
        "port 0 to have a free port chosen",
        config_.listen);
  }
  if (!listen->is_unix()) listen->port = static_cast<uint16_t>(port);
  address_ = listen->ToString();
  if (config_.metrics_listen.empty()) return absl::OkStatus();
  HR_ASSIGN_OR_RETURN(metrics_server_,
                      MetricsServer::Start(config_.metrics_listen, "metrics_listen",
                                           own_metrics_ != nullptr ? *own_metrics_ : *deps_.metrics,
                                           [this] { return service_->health(); }));
  metrics_address_ = metrics_server_->address().ToString();
  return absl::OkStatus();
}

Dispatcher::~Dispatcher() { Shutdown(config_.shutdown_timeout); }

void Dispatcher::Shutdown(absl::Duration timeout) {
  if (server_ != nullptr) {
    server_->Shutdown(absl::ToChronoTime(absl::Now() + timeout));
    server_->Wait();
    server_ = nullptr;
  }
  duties_ = nullptr;
  snapshots_ = nullptr;
  metrics_server_ = nullptr;
}

}  // namespace headrace
