#include "worker/worker.h"

#include <unistd.h>

#include <algorithm>
#include <random>
#include <thread>
#include <utility>

#include "common/auth_token.h"
#include "common/logging/logging.h"
#include "common/net_address.h"
#include "common/status.h"
#include "fmt/ranges.h"
#include "rpc/call_security.h"
#include "transport/transport_driver.h"
#include "worker/open_caches.h"

namespace headrace {
namespace {

constexpr absl::Duration kBeatPeriod = absl::Milliseconds(100);  // until the dispatcher says more
// Small splits end by the hundred a second: their reports go together.
constexpr absl::Duration kReportGap = absl::Milliseconds(20);
constexpr absl::Duration kLeaseRetryPeriod = absl::Milliseconds(50);
constexpr absl::Duration kLoadPeriod = absl::Seconds(1);
constexpr absl::Duration kLoadTimeout = absl::Milliseconds(300);
constexpr absl::Duration kSendPeriod =
    absl::Seconds(1);  // only a safety net: output and credit wake it

uint64_t RandomUid() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32) | device() | 1;
}

std::string HostName() {
  char name[256] = {};
  return ::gethostname(name, sizeof(name) - 1) == 0 ? name : "localhost";
}

// A wildcard address cannot be dialled: others reach us by the host's name.
std::string DialAddress(const std::string& bound) {
  for (std::string_view wildcard : {"0.0.0.0:", "[::]:"}) {
    if (bound.starts_with(wildcard)) return HostName() + bound.substr(wildcard.size() - 1);
  }
  return bound;
}

size_t Cores(int64_t asked) {
  return asked != 0 ? static_cast<size_t>(asked)
                    : std::max(1u, std::thread::hardware_concurrency());
}

}  // namespace

Worker::Worker(const WorkerConfig& config, Deps deps, std::unique_ptr<TieredCache> cache)
    : config_(config),
      deps_(std::move(deps)),
      uid_(RandomUid()),
      cache_(std::move(cache)),
      held_(*cache_),
      compute_({.threads = Cores(config.compute_threads)}),
      io_(static_cast<size_t>(config.io_threads)),
      functions_(FunctionOptionsOf(config)),
      factory_(config, {deps_.catalog, &compute_, &io_, deps_.clock, deps_.files, &functions_,
                        cache_.get(), &held_}),
      metrics_(*deps_.metrics),
      stream_metrics_(*deps_.metrics, config.transports),
      load_(deps_.clock->Steady()) {}

absl::StatusOr<std::unique_ptr<Worker>> Worker::Start(const WorkerConfig& config, Deps deps,
                                                      const CancellationToken& stop) {
  HR_ASSIGN_OR_RETURN(std::unique_ptr<TieredCache> cache, OpenCaches(config.cache, *deps.clock));
  std::unique_ptr<Worker> worker(new Worker(config, std::move(deps), std::move(cache)));
  HR_RETURN_IF_ERROR(worker->Listen());
  HR_RETURN_IF_ERROR(worker->RegisterUntil(stop));
  Worker* w = worker.get();
  w->lease_loop_ =
      std::make_unique<PeriodicTask>("hr-lease", kLeaseRetryPeriod, [w] { w->PullAllLeases(); });
  w->send_loop_ = std::make_unique<PeriodicTask>("hr-send", kSendPeriod, [w] { w->PumpAll(); });
  w->beat_loop_ = std::make_unique<PeriodicTask>("hr-beat", kBeatPeriod, [w] { w->Beat(); });
  w->beat_loop_->TriggerNow();
  if (w->deps_.fleet != nullptr) {
    w->load_loop_ =
        std::make_unique<PeriodicTask>("hr-load", kLoadPeriod, [w] { w->ReportLoad(); });
    w->load_loop_->TriggerNow();
  }
  return worker;
}

Worker::~Worker() { Shutdown(config_.shutdown_timeout); }

absl::Status Worker::Listen() {
  TransportRegistry drivers;
  RegisterAll_transports(drivers);
  HR_ASSIGN_OR_RETURN(const NetAddress listen, ParseNetAddress(config_.listen));
  for (const std::string& name : config_.transports)
    HR_RETURN_IF_ERROR(Annotate(drivers.Check(name), "transports"));
  TransportServeOptions common;
  common.compression = config_.compression;
  common.checksums = config_.checksums;
  common.tls = config_.tls;
  if (!config_.token_file.empty()) {
    HR_ASSIGN_OR_RETURN(const BearerToken token, BearerToken::Load(config_.token_file));
    common.token = token.HeaderValue();
  }
  absl::Status missing = InvalidArgument("transports: name at least one");
  for (const std::string& name : config_.transports) {
    TransportServeOptions options = common;
    options.listen = config_.listen;
    options.shm_bytes = static_cast<size_t>(config_.shm_bytes.value);
    options.shm_directory = config_.shm_directory;
    if (name != "grpc") {
      options.listen = !config_.tcp_listen.empty() ? config_.tcp_listen
                       : listen.is_unix()          ? std::string("127.0.0.1:0")
                                                   : NetAddress{.host = listen.host}.ToString();
    }
    auto server = drivers.Find(name)->Serve(options, *this);
    if (absl::IsUnimplemented(server.status())) {
      missing = server.status();
      LogWarning("transport {} is left out: {}", name, OneLine(missing));
      continue;
    }
    HR_RETURN_IF_ERROR(server.status());
    servers_.push_back(*std::move(server));
  }
  if (servers_.empty()) return missing;
  for (const auto& server : servers_) {
    if (auto memory = server->memory()) factory_.UseMemory(std::move(memory));
  }
  const FrameServer* main = servers_.front().get();
  for (const auto& server : servers_) {
    if (server->transport() == "grpc") main = server.get();
  }
  address_ = config_.advertise.empty() ? DialAddress(main->address()) : config_.advertise;
  return absl::OkStatus();
}

// "tcp:0.0.0.0:4711" as others reach it: by the host that the worker's own address has.
std::string Worker::Advertised(const FrameServer& server) const {
  const std::string transport = server.transport();
  const size_t colon = transport.find(':');
  if (colon == std::string::npos) return transport;
  absl::StatusOr<NetAddress> bound = ParseNetAddress(transport.substr(colon + 1));
  const absl::StatusOr<NetAddress> own = ParseNetAddress(address_);
  if (!bound.ok() || bound->is_unix() || !own.ok() || own->is_unix()) return transport;
  const bool wildcard = bound->host == "0.0.0.0" || bound->host == "::";
  if (wildcard || !config_.advertise.empty()) bound->host = own->host;
  return transport.substr(0, colon + 1) + bound->ToString();
}

absl::Status Worker::Register() {
  v1::RegisterWorkerRequest request;
  request.set_worker_uid(uid_);
  request.set_address(address_);
  for (const auto& server : servers_) request.add_transports(Advertised(*server));
  request.set_host(HostName());
  request.set_cores(static_cast<uint32_t>(compute_.threads()));
  for (const std::string& tag : config_.tags) request.add_tags(tag);
  HR_ASSIGN_OR_RETURN(const v1::RegisterWorkerReply reply,
                      deps_.dispatcher->RegisterWorker(request, config_.call_timeout));
  id_ = reply.worker();
  cluster_ = reply.cluster();
  LogInfo("worker {} serves on {} ({}), dispatcher {}", reply.worker(), address_,
          fmt::join(request.transports(), ", "), config_.dispatcher);
  return absl::OkStatus();
}

absl::Status Worker::RegisterUntil(const CancellationToken& stop) {
  const absl::Duration deadline = config_.connect_timeout == absl::ZeroDuration()
                                      ? absl::InfiniteDuration()
                                      : deps_.clock->Steady() + config_.connect_timeout;
  LogLimiter limiter(absl::Seconds(10));
  while (true) {
    const absl::Status status = Register();
    if (IsTlsMismatch(status)) return absl::UnauthenticatedError(status.message());
    if (status.ok() || !IsTransient(status)) return status;
    if (deps_.clock->Steady() >= deadline) {
      return Unavailable(
          "no dispatcher answers at {} ({} tried): start one, or set `dispatcher` to its address. "
          "The last try: {}",
          config_.dispatcher, absl::FormatDuration(config_.connect_timeout),
          std::string(status.message()));
    }
    LogLimited(limiter, LogLevel::kWarning, "waiting for the dispatcher at {}: {}",
               config_.dispatcher, OneLine(status));
    if (stop.Wait(absl::Milliseconds(200))) {
      return Cancelled("stopped before the dispatcher at {} answered", config_.dispatcher);
    }
  }
}

void Worker::Beat() {
  absl::MutexLock lock(&beat_mutex_);
  if (stopped_) return;
  v1::WorkerBeatRequest request;
  request.set_worker(id_);
  request.set_worker_uid(uid_);
  request.set_cluster(cluster_);
  request.set_draining(draining_);
  for (const auto& host : tasks_.All()) {
    host->Collect(reports_);
    request.add_running_tasks(host->id());
    *request.add_stats() = host->Stats();
    metrics_.Update(host->def(), request.stats(request.stats_size() - 1));
  }
  metrics_.Update(functions_.counters());
  metrics_.Update(*cache_);
  metrics_.SetTasks(static_cast<size_t>(request.running_tasks_size()));
  reports_.Fill(request);
  const absl::StatusOr<v1::WorkerBeatReply> reply =
      deps_.dispatcher->WorkerBeat(request, config_.call_timeout);
  if (!reply.ok()) {
    // Ride through: streams and tasks go on, reports wait.
    metrics_.CountBeatFailure();
    if (IsTransient(reply.status()) && !IsTlsMismatch(reply.status())) {
      LogDebug("beat: {}", OneLine(reply.status()));
    } else {
      LogLimited(beat_limiter_, LogLevel::kWarning, "beat: {}", OneLine(reply.status()));
    }
    return;
  }
  reports_.Acknowledge(reply->acknowledged_report());
  if (reply->beat_milliseconds() != 0) {
    beat_loop_->SetPeriod(absl::Milliseconds(std::clamp(reply->beat_milliseconds(), 10u, 60'000u)));
  }
  if (reply->unknown_worker()) {
    LogWarning(
        "the dispatcher does not know worker {} any more: dropping {} tasks, registering anew",
        id_.load(), tasks_.All().size());
    for (const auto& host : tasks_.All()) ForgetTask(host->id());
    reports_.Clear();
    if (absl::Status status = Register(); !status.ok()) LogWarning("register: {}", OneLine(status));
    return;
  }
  for (const v1::TaskDef& def : reply->start()) StartTask(def);
  for (uint64_t task : reply->stop()) {
    ForgetTask(task);
    reports_.Drop(task);
  }
  for (uint64_t task : reply->wake()) {
    if (auto host = tasks_.Find(task)) host->WakeLeases();
  }
  for (const v1::ShedTask& shed : reply->shed()) {
    if (auto host = tasks_.Find(shed.task())) host->Shed(shed.idle());
  }
  if (reply->drained()) drained_ = true;
}

void Worker::StartTask(const v1::TaskDef& def) {
  if (tasks_.Find(def.task()) != nullptr) return;
  TaskWakers wakers{[this] { lease_loop_->TriggerNow(); }, [this] { send_loop_->TriggerNow(); },
                    [this] { beat_loop_->TriggerAfter(kReportGap); }};
  absl::StatusOr<std::unique_ptr<TaskHost>> host =
      TaskHost::Create(def, id_, factory_, std::move(wakers));
  if (!host.ok()) {
    v1::TaskError error;
    error.set_task(def.task());
    error.set_code(static_cast<uint32_t>(host.status().code()));
    error.set_message(std::string(host.status().message()));
    beat_mutex_.AssertHeld();
    reports_.Add(std::move(error));
    beat_loop_->TriggerNow();
    return;
  }
  tasks_.Add(std::move(*host));
  lease_loop_->TriggerNow();
}

void Worker::ForgetTask(uint64_t task) {
  tasks_.Remove(task);
  metrics_.Forget(task);
}

void Worker::PullAllLeases() {
  bool again = false;
  for (const auto& host : tasks_.All()) {
    again =
        host->PullLeases(*deps_.dispatcher, deps_.clock->Steady(), config_.call_timeout) || again;
  }
  if (again && !stopped_) lease_loop_->TriggerNow();
}

void Worker::PumpAll() {
  // A job's lanes are many tasks, of which few have something new at a time.
  const absl::Duration now = deps_.clock->Steady();
  const bool all = now - pumped_all_ >= kSendPeriod;
  if (all) pumped_all_ = now;
  for (const auto& host : tasks_.All()) {
    if (host->TakePump() || all) host->Pump();
  }
}

void Worker::ReportLoad() {
  std::vector<LoadMeter::TaskLoad> loads;
  for (const auto& host : tasks_.All()) {
    LoadMeter::TaskLoad load = host->Load();
    load.job = host->def().job();
    loads.push_back(load);
  }
  load_.Update(loads);
  v1::ReportLoadRequest request;
  request.set_worker(id_);
  request.set_worker_uid(uid_);
  request.set_cluster(cluster_);
  load_.Fill({deps_.clock->Steady(), compute_.busy_nanos(), compute_.threads(),
              static_cast<size_t>(config_.io_threads)},
             *request.mutable_load());
  FillTiers(*cache_, *request.mutable_load());
  const auto reply = deps_.fleet->ReportLoad(request, kLoadTimeout);
  // Totals: the next one tells what this one did not.
  if (!reply.ok()) LogDebug("load: {}", OneLine(reply.status()));
}

absl::Status Worker::OnOpen(std::shared_ptr<FrameStream> stream) {
  if (stopped_) return Unavailable("worker {} is shutting down", address_);
  const uint64_t task = stream->open().task();
  auto host = tasks_.Find(task);
  if (host == nullptr) {
    // It may not have heard of the task yet (the client was told first): the client tries again.
    return FailedPrecondition("worker {} does not run task {}", address_, task);
  }
  // The same number, told by a dispatcher that has lost its journal since.
  const uint64_t cluster = stream->open().cluster();
  if (cluster != 0 && host->def().cluster() != 0 && cluster != host->def().cluster()) {
    return FailedPrecondition("worker {} serves another dispatcher's task {}", address_, task);
  }
  stream_metrics_.Opened(stream->transport());
  LogInfo("task {}: client {} at {} reads over {}", task, stream->open().client(), stream->peer(),
          stream->transport());
  host->AddStream(std::move(stream));
  return absl::OkStatus();
}

void Worker::OnReady(const std::shared_ptr<FrameStream>& stream) {
  if (auto host = tasks_.Find(stream->open().task())) host->NotePump();
}

void Worker::OnClosed(const std::shared_ptr<FrameStream>& stream, const absl::Status& status) {
  const uint64_t task = stream->open().task();
  stream_metrics_.Closed(stream->transport());
  LogDebug("task {}: stream to {} closed: {}", task, stream->peer(), OneLine(status));
  if (auto host = tasks_.Find(task)) host->RemoveStream(stream.get());
}

void Worker::Shutdown(absl::Duration timeout) {
  if (stopped_.exchange(true)) return;
  if (load_loop_) load_loop_->Stop();
  if (beat_loop_) beat_loop_->Stop();
  if (lease_loop_) lease_loop_->Stop();
  if (send_loop_) send_loop_->Stop();
  {
    absl::MutexLock lock(&beat_mutex_);
    v1::WorkerBeatRequest goodbye;
    goodbye.set_worker(id_);
    goodbye.set_worker_uid(uid_);
    goodbye.set_cluster(cluster_);
    goodbye.set_leaving(true);
    if (id_ != 0)
      (void)deps_.dispatcher->WorkerBeat(goodbye, std::min(timeout / 2, absl::Seconds(1)));
  }
  for (const auto& server : servers_) server->Shutdown(absl::ZeroDuration());
  tasks_.Clear();
}

}  // namespace headrace
