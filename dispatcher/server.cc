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
#include "rpc/call_security.h"
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

// A wildcard address cannot be dialled: others reach us by the host's name.
std::string DialAddress(const std::string& bound) {
  for (std::string_view wildcard : {"0.0.0.0:", "[::]:"}) {
    if (!bound.starts_with(wildcard)) continue;
    char name[256] = {};
    const std::string host = gethostname(name, sizeof(name) - 1) == 0 ? name : "localhost";
    return host + bound.substr(wildcard.size() - 1);
  }
  return bound;
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
  if (deps_.etcd != nullptr) return;  // each term has a service of its own
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
  const bool lone = dispatcher->deps_.etcd == nullptr;
  if (absl::Status status = lone ? dispatcher->service_->Recover() : absl::OkStatus();
      !status.ok()) {
    return Annotate(status, "dispatcher: replaying the journal");
  }
  HR_RETURN_IF_ERROR(dispatcher->Listen());
  lone ? dispatcher->StartDuties() : dispatcher->StartCandidate();
  HR_RETURN_IF_ERROR(dispatcher->ServeMetrics());
  LogInfo("dispatcher listens on {}", dispatcher->address_);
  return dispatcher;
}

void Dispatcher::StartDuties() {
  metrics_.SetLeads(true);
  DispatcherService* service = service_.get();
  duties_ = std::make_unique<PeriodicTask>("hr-disp-duties", config_.background_period,
                                           [service] { service->RunDuties(); });
  snapshots_ = std::make_unique<PeriodicTask>("hr-disp-snap", absl::Seconds(1),
                                              [service] { service->CompactIfWorthwhile(); });
}

void Dispatcher::StartCandidate() {
  journal_metrics_ = std::make_unique<JournalMetrics>(metrics());
  Candidate::Deps deps;
  deps.etcd = deps_.etcd.get();
  deps.gate = &gate_;
  deps.resolver = deps_.resolver.get();
  deps.clock = deps_.clock;
  deps.metrics = &metrics_;
  deps.journal_metrics = journal_metrics_.get();
  deps.new_cluster = RandomId();
  candidate_ = std::make_unique<Candidate>(
      config_, config_.advertise.empty() ? DialAddress(address_) : config_.advertise, deps);
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
  HR_ASSIGN_OR_RETURN(ServerSecurity security, MakeServerSecurity(config_.tls, config_.token_file));
  const bool open = security.credentials == nullptr && security.token.empty();
  if (open && !listen->IsLoopback()) {
    LogWarning(
        "dispatcher: whoever reaches {} can run jobs: set tls and token_file, or keep strangers "
        "from it (docs/security.md)",
        config_.listen);
  }
  DispatcherHandler& handler =
      deps_.etcd == nullptr ? static_cast<DispatcherHandler&>(*service_) : gate_;
  grpc_service_ = MakeGrpcDispatcherService(
      handler, *deps_.clock,
      [this](std::string_view method, absl::Duration took, absl::StatusCode code) {
        metrics_.ObserveCall(method, took, code);
      },
      security.token);
  grpc_fleet_ = MakeGrpcFleetService(
      deps_.etcd == nullptr ? static_cast<FleetHandler&>(*service_) : gate_, security.token);
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(
      config_.listen,
      security.credentials != nullptr ? security.credentials : grpc::InsecureServerCredentials(),
      &port);
  builder.RegisterService(grpc_service_.get());
  builder.RegisterService(grpc_fleet_.get());
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
  return absl::OkStatus();
}

absl::Status Dispatcher::ServeMetrics() {
  if (config_.metrics_listen.empty()) return absl::OkStatus();
  const auto health = [this]() -> absl::StatusOr<std::string> {
    // One of several is well as long as it runs: a restart helps neither a follower nor etcd.
    if (candidate_ != nullptr) return "ok: " + candidate_->Role();
    HR_RETURN_IF_ERROR(service_->health());
    return std::string("ok");
  };
  const auto ready = [this, health] {
    return candidate_ != nullptr ? candidate_->Ready() : health();
  };
  const auto leads = [this, health] {
    return candidate_ != nullptr ? candidate_->Leads() : health();
  };
  HR_ASSIGN_OR_RETURN(
      metrics_server_,
      MetricsServer::Start(
          config_.metrics_listen, "metrics_listen", metrics(),
          std::vector<ProbePage>{{"/healthz", health}, {"/readyz", ready}, {"/leader", leads}}));
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
  metrics_server_ = nullptr;  // its pages ask the others
  candidate_ = nullptr;
  duties_ = nullptr;
  snapshots_ = nullptr;
}

}  // namespace headrace
