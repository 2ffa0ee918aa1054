#include "tests/sim/cluster.h"

#include <algorithm>
#include <utility>

namespace headrace::sim {
namespace {

constexpr absl::Duration kFaultsUntil = absl::Seconds(8);
// A stream that nothing came over for so long is given up by both ends.
constexpr absl::Duration kStreamSilence = absl::Seconds(3);
// Every history must be over by then: faults, the longest pause, time-outs and the work itself,
// with room.
constexpr absl::Duration kBound = absl::Seconds(120);

DispatcherConfig Settings() {
  DispatcherConfig config;
  config.worker_timeout = absl::Seconds(2);
  config.client_timeout = absl::Seconds(4);
  config.job_grace = absl::Hours(1);
  config.worker_beat = absl::Milliseconds(200);
  config.client_beat = absl::Milliseconds(200);
  config.closing_beat = absl::Milliseconds(100);
  config.shed_after = absl::Milliseconds(20);
  config.max_task_errors = 1000;
  return config;
}

FakePipelineResolver::Shape ShapeOf(const History& history) {
  FakePipelineResolver::Shape shape;
  shape.splits = history.splits;
  shape.splits_per_file = history.splits_per_file;
  shape.passes = history.passes;
  shape.single_task = history.take != 0;
  shape.shard_hint = history.sharding == v1::SHARDING_STATIC_HINT;
  shape.batch_rows = history.batch_rows();
  return shape;
}

}  // namespace

Cluster::Cluster(const History& history)
    : history_(history),
      random_(Mix(history.seed, 2)),
      truth_(history_),
      network_(scheduler_, random_, history_),
      world_{scheduler_, random_, history_, network_, truth_, workers_},
      config_(Settings()),
      resolver_(ShapeOf(history)),
      compactions_(Mix(history.seed, 3)) {
  StartDispatcher();
  for (uint64_t i = 0; i < history_.workers; ++i) {
    workers_.push_back(std::make_unique<WorkerModel>(world_, i));
    At(random_.Between(absl::ZeroDuration(), absl::Seconds(1)),
       [worker = workers_.back().get()] { worker->Start(); });
  }
  for (uint64_t i = 0; i < history_.clients; ++i) {
    clients_.push_back(std::make_unique<ClientModel>(world_, static_cast<uint32_t>(i)));
    At(random_.Between(absl::ZeroDuration(), absl::Seconds(1)),
       [client = clients_.back().get()] { client->Start(); });
  }
  PlanFaults();
}

void Cluster::At(absl::Duration when, std::function<void()> fault) {
  scheduler_.After(when, std::move(fault));
}

void Cluster::StartDispatcher() {
  DispatcherService::Deps deps;
  deps.journal = &journal_;
  deps.resolver = &resolver_;
  deps.clock = &scheduler_.clock();
  deps.new_cluster = history_.seed;
  const std::string before = dispatcher_ == nullptr ? "" : dispatcher_->Dump();
  auto service = std::make_unique<DispatcherService>(config_, deps);
  if (absl::Status status = service->Recover(); !status.ok()) {
    failure_ = "REPLAY " + OneLine(status);
  } else if (dispatcher_ != nullptr && service->Dump() != before) {
    failure_ = "REPLAY gives another state:\n" + before + "---\n" + service->Dump();
  }
  if (std::exchange(compacted_, false)) ++seen_["restarted from a snapshot"];
  dispatcher_ = std::move(service);
  network_.SetDispatcher(dispatcher_.get());
  Duties(++dispatcher_lives_);
}

void Cluster::CrashDispatcher() {
  network_.SetDispatcher(nullptr);
  ++dispatcher_lives_;
  At(random_.Between(absl::Milliseconds(10), absl::Seconds(3)), [this] { StartDispatcher(); });
}

void Cluster::Duties(uint64_t life) {
  if (life != dispatcher_lives_) return;
  dispatcher_->RunDuties();
  if (history_.snapshots > 0 && compactions_.Chance(history_.snapshots)) Compact();
  scheduler_.After(config_.background_period, [this, life] { Duties(life); });
}

void Cluster::Compact() {
  CountEvents();
  const absl::Status status = dispatcher_->Compact();
  if (!status.ok()) failure_ = "COMPACTION " + OneLine(status);
  compacted_ = true;
}

void Cluster::CrashWorker(uint64_t index) {
  WorkerModel& worker = *workers_[index];
  if (!worker.alive()) return;
  if (random_.Chance(0.2) && !worker.paused()) {
    worker.Leave();
  } else {
    worker.Crash();
  }
  At(random_.Between(absl::Milliseconds(50), absl::Seconds(5)), [&worker] {
    if (!worker.alive()) worker.Start();
  });
}

void Cluster::CrashClient(uint64_t index) {
  ClientModel& client = *clients_[index];
  if (!client.alive()) return;
  client.Crash();
  At(random_.Between(absl::Milliseconds(50), absl::Seconds(6)), [&client] {
    if (!client.alive()) client.Start();
  });
}

void Cluster::LeaveClient(uint64_t index) {
  ClientModel& client = *clients_[index];
  if (!client.reading() || client.paused()) return;
  client.Leave();
}

void Cluster::BreakStream() {
  for (const auto& client : clients_) {
    const auto open = client->OpenStreams();
    if (open.empty()) continue;
    const auto stream = open[random_.Next() % open.size()];
    stream->broken = true;
    At(network_.Delay(), [stream] { stream->client->OnBroken(stream); });
    At(network_.Delay(), [stream] { stream->worker->OnClosed(stream); });
    return;
  }
}

// All trainers save at one moment, as synchronous training does; some time later all of them crash.
void Cluster::Save() {
  std::vector<v1::LoaderState> states;
  uint64_t batch = clients_.front()->batch();
  for (const auto& client : clients_) {
    if (!client->reading() || client->epoch() != clients_.front()->epoch()) return;
    batch = std::min(batch, client->batch());
  }
  for (const auto& client : clients_) {
    states.push_back(history_.ordered ? client->StateAt(batch) : client->State());
  }
  truth_.Save();
  truth_.SaveBefore(clients_.front()->epoch(), batch);
  At(random_.Between(absl::Milliseconds(1), absl::Seconds(2)),
     [this, states = std::move(states)] { RestoreAll(states); });
}

void Cluster::RestoreAll(std::vector<v1::LoaderState> states) {
  for (const auto& client : clients_) client->Crash();
  history_.ordered ? truth_.GoBackToBatch() : truth_.GoBack();
  ++restored_;
  for (const auto& client : clients_) {
    At(random_.Between(absl::ZeroDuration(), absl::Seconds(1)),
       [client = client.get(), states] { client->StartFrom(states); });
  }
}

void Cluster::CutOff(const Process* a, const Process* b, absl::Duration lasts) {
  if (network_.IsCut(a, b)) return;
  network_.Cut(a, b);
  if (lasts > kStreamSilence) {
    At(kStreamSilence, [this, a, b] { BreakBetween(a, b, /*all=*/true); });
  }
  At(lasts, [this, a, b] {
    network_.Join(a, b);
    BreakBetween(a, b, /*all=*/false);  // another process answers, and knows nothing of them
  });
}

void Cluster::BreakBetween(const Process* a, const Process* b, bool all) {
  for (const auto& client : clients_) {
    if (client.get() != a && client.get() != b) continue;
    for (const auto& stream : client->Streams()) {
      WorkerModel* worker = stream->worker;
      if (worker != a && worker != b) continue;
      const bool stale = stream->worker_life != 0 && stream->worker_life != worker->life();
      if (!all && !stale && worker->alive()) continue;
      stream->broken = true;
      client->OnBroken(stream);
      worker->OnClosed(stream);
    }
  }
}

void Cluster::CutWorker(WorkerModel& worker) {
  const absl::Duration lasts = random_.Between(absl::Milliseconds(200), absl::Seconds(8));
  const uint64_t from = random_.Between(0, 2);
  if (from != 1) CutOff(&worker, nullptr, lasts);
  for (const auto& client : clients_) {
    if (from == 2 || (from == 1 && random_.Chance(0.6))) CutOff(&worker, client.get(), lasts);
  }
}

void Cluster::CutClient(ClientModel& client) {
  const absl::Duration lasts = random_.Between(absl::Milliseconds(200), absl::Seconds(8));
  CutOff(&client, nullptr, lasts);
  if (random_.Chance(0.5)) return;
  for (const auto& worker : workers_) CutOff(&client, worker.get(), lasts);
}

void Cluster::PlanFaults() {
  const auto often = [this](uint64_t times, auto fault) {
    for (uint64_t i = 0; i < times; ++i) {
      // Most of the work is done in the first second or two.
      const absl::Duration until = random_.Chance(0.6) ? absl::Seconds(2) : kFaultsUntil;
      At(random_.Between(absl::Milliseconds(100), until), fault);
    }
  };
  const auto pause = [this](auto* process) {
    if (!process->alive() || process->paused()) return;
    process->Pause();
    At(random_.Between(absl::Milliseconds(200), absl::Seconds(8)),
       [process] { process->Resume(); });
  };
  const auto any = [this](const auto& list) { return random_.Next() % list.size(); };
  often(history_.worker_crashes, [this, any] { CrashWorker(any(workers_)); });
  often(history_.worker_pauses, [this, any, pause] { pause(workers_[any(workers_)].get()); });
  often(history_.worker_cuts, [this, any] { CutWorker(*workers_[any(workers_)]); });
  often(history_.client_cuts, [this, any] { CutClient(*clients_[any(clients_)]); });
  often(history_.stream_breaks, [this] { BreakStream(); });
  often(history_.task_errors, [this, any] { workers_[any(workers_)]->FailOnce(); });
  often(history_.drains, [this, any] { workers_[any(workers_)]->Drain(); });
  often(history_.client_leaves, [this, any] { LeaveClient(any(clients_)); });
  often(history_.client_crashes, [this, any] { CrashClient(any(clients_)); });
  often(history_.client_pauses, [this, any, pause] { pause(clients_[any(clients_)].get()); });
  // One after the other: a checkpoint is not gone back behind.
  for (uint64_t i = 0; i < history_.restores; ++i) {
    At(absl::Seconds(4 * i) + random_.Between(absl::Milliseconds(200), absl::Seconds(2)),
       [this] { Save(); });
  }
  often(history_.dispatcher_crashes, [this] { CrashDispatcher(); });
  At(kFaultsUntil, [this] { network_.StopFaults(); });
}

bool Cluster::Done() const { return std::ranges::all_of(clients_, &ClientModel::done); }

std::string Cluster::Picture() const {
  std::string picture = dispatcher_->Dump();
  for (const auto& client : clients_) picture += client->Describe() + "\n";
  for (const auto& worker : workers_) {
    picture += fmt::format("worker model {} alive {} paused {}\n", worker->address(),
                           worker->alive(), worker->paused());
  }
  return picture;
}

void Cluster::CountEvents() {
  const auto count = [this](const v1::Event& event) {
    if (event.has_tasks_fenced()) {
      ++seen_[v1::FenceCause_Name(event.tasks_fenced().cause())];
      if (event.tasks_fenced().give_up()) ++seen_["given up"];
      if (event.tasks_fenced().awaited_size() > 1) ++seen_["fence awaits several clients"];
    }
    if (event.has_fence_confirmed()) ++seen_["fence confirmed"];
    if (event.has_task_assigned() && event.task_assigned().replay()) ++seen_["replay"];
    if (event.has_client_gone() && event.client_gone().lost()) ++seen_["client lost"];
    if (event.has_worker_gone() && !event.worker_gone().lost()) ++seen_["worker drained"];
    if (event.has_epoch_finished()) ++seen_["epoch finished"];
    if (event.has_runs_delivered()) ++seen_["delivered"];
    for (const v1::SplitReport& report : event.splits_reported().splits()) {
      if (report.cuts_size() != 0) ++seen_["cut"];
    }
    if (event.leases_granted().first_records_size() != 0) ++seen_["piece leased"];
    return absl::OkStatus();
  };
  (void)journal_.Replay({[](std::string_view) { return absl::OkStatus(); }, count});
}

Outcome Cluster::Run() {
  Outcome outcome;
  const absl::Duration start = scheduler_.now();
  while (failure_.empty() && !Done()) {
    if (!scheduler_.RunOne()) break;
    ++outcome.events;
    failure_ = failure_.empty() ? truth_.failure() : failure_;
    if (scheduler_.now() - start > kBound) failure_ = "STUCK\n" + Picture();
    // Those that left, and workers that drained, come back.
    if (outcome.events % 64 != 0) continue;
    for (const auto& client : clients_) {
      if (!client->alive() && !client->done() && history_.restores == 0 &&
          scheduler_.now() - start > absl::Seconds(1)) {
        client->Start();
      }
    }
    for (const auto& worker : workers_) {
      if (!worker->alive() && scheduler_.now() - start > kFaultsUntil) worker->Start();
    }
  }
  if (failure_.empty()) failure_ = truth_.Verdict();
  if (failure_.empty() && history_.ordered) {
    Cluster calm(Calm(history_));
    const absl::Duration begun = calm.scheduler_.now();
    while (!calm.Done() && calm.scheduler_.now() - begun < kBound && calm.scheduler_.RunOne()) {
    }
    failure_ = truth_.OutOfOrder(calm.truth_);
  }
  CountEvents();
  if (dispatcher_lives_ > 1) ++seen_["dispatcher restarted"];
  seen_["restored"] += restored_;
  outcome.seen = seen_;
  outcome.failure = failure_;
  outcome.took = scheduler_.now() - start;
  return outcome;
}

}  // namespace headrace::sim
