#include "tests/sim/worker_model.h"

#include <algorithm>

#include "tests/sim/client_model.h"

namespace headrace::sim {
namespace {

void FillRun(const RecordId& id, v1::Run& run) {
  run.set_split(id.split);
  run.set_first(id.index);
  run.set_count(1);
  run.set_part(id.part);
  run.set_parts(id.parts);
  run.set_pass(id.pass);
}

}  // namespace

WorkerModel::WorkerModel(World& world, uint64_t index)
    : Process(world.scheduler), world_(world), address_(fmt::format("w{}:1", index)) {}

void WorkerModel::Start() {
  Live();
  ++lives_;
  uid_ = world_.next_uid++;
  id_ = 0;
  draining_ = false;
  tasks_.clear();
  reports_ = ReportLog();
  streams_.clear();
  Register();
  Work();
}

void WorkerModel::Crash() {
  Die();
  for (const auto& stream : streams_) {
    stream->broken = true;
    // Sometimes the host dies with the process, and nobody resets the connection.
    if (world_.random.Chance(0.3) || world_.network.IsCut(this, stream->client)) continue;
    scheduler_.After(world_.network.Delay(), [stream] { stream->client->OnBroken(stream); });
  }
  streams_.clear();
}

void WorkerModel::Leave() {
  v1::WorkerBeatRequest goodbye;
  goodbye.set_worker(id_);
  goodbye.set_worker_uid(uid_);
  goodbye.set_leaving(true);
  world_.network.Call<v1::WorkerBeatRequest, v1::WorkerBeatReply>(
      this, &DispatcherService::WorkerBeat, goodbye, absl::Seconds(1),
      [](const absl::StatusOr<v1::WorkerBeatReply>&) {});
  Crash();
}

void WorkerModel::Register() {
  v1::RegisterWorkerRequest request;
  request.set_worker_uid(uid_);
  request.set_address(address_);
  world_.network.Call<v1::RegisterWorkerRequest, v1::RegisterWorkerReply>(
      this, &DispatcherService::RegisterWorker, request, absl::Seconds(1),
      GuardReply<v1::RegisterWorkerReply>([this](absl::StatusOr<v1::RegisterWorkerReply> reply) {
        if (!reply.ok()) {
          After(absl::Milliseconds(100), [this] { Register(); });
          return;
        }
        id_ = reply->worker();
        Beat();
      }));
}

void WorkerModel::BeatSoon(absl::Duration delay) {
  After(delay, [this] { Beat(); });
}

void WorkerModel::Beat() {
  v1::WorkerBeatRequest request;
  request.set_worker(id_);
  request.set_worker_uid(uid_);
  for (const auto& [id, task] : tasks_) request.add_running_tasks(id);
  reports_.Fill(request);
  request.set_draining(draining_);
  world_.network.Call<v1::WorkerBeatRequest, v1::WorkerBeatReply>(
      this, &DispatcherService::WorkerBeat, request, absl::Milliseconds(500),
      GuardReply<v1::WorkerBeatReply>([this](absl::StatusOr<v1::WorkerBeatReply> reply) {
        if (!reply.ok()) return BeatSoon(absl::Milliseconds(50));
        OnBeat(*reply);
      }));
}

void WorkerModel::OnBeat(const v1::WorkerBeatReply& reply) {
  if (reply.unknown_worker()) {
    while (!tasks_.empty()) Forget(tasks_.begin()->first);
    reports_.Clear();
    Register();
    return;
  }
  reports_.Acknowledge(reply.acknowledged_report());
  for (v1::TaskDef def : reply.start()) {
    if (world_.history.replays_begin_anew) def.set_replay(false);
    tasks_.try_emplace(def.task(), world_.history, id_, def);
  }
  for (const uint64_t task : reply.stop()) {
    Forget(task);
    reports_.Drop(task);
  }
  for (const uint64_t task : reply.wake()) {
    if (const auto it = tasks_.find(task); it != tasks_.end()) it->second.puller.Wake();
  }
  for (const v1::ShedTask& shed : reply.shed()) {
    if (const auto it = tasks_.find(shed.task()); it != tasks_.end()) Shed(it->second);
  }
  if (reply.drained()) {
    while (!tasks_.empty()) Forget(tasks_.begin()->first);
    Die();  // leaves
    return;
  }
  BeatSoon(absl::Milliseconds(reply.beat_milliseconds()));
}

void WorkerModel::Forget(uint64_t task) {
  tasks_.erase(task);
  std::erase_if(streams_, [&](const std::shared_ptr<SimStream>& stream) {
    if (stream->task != task) return false;
    stream->ended = true;
    stream->last_arrival =
        std::max(stream->last_arrival, scheduler_.now() + world_.network.Delay());
    world_.network.Deliver(stream->last_arrival - scheduler_.now(), this, stream->client,
                           [stream] { stream->client->OnEnded(stream); });
    return true;
  });
}

void WorkerModel::Work() {
  for (auto& [id, task] : tasks_) {
    Pull(task);
    if (world_.history.cuts > 0 && world_.random.Chance(world_.history.cuts)) Shed(task);
    Read(task);
    Send(task);
  }
  After(world_.random.Between(absl::Milliseconds(2), absl::Milliseconds(15)), [this] { Work(); });
}

void WorkerModel::Pull(Task& task) {
  const uint32_t wanted = task.satisfied || task.readings.size() >= 2
                              ? 0
                              : static_cast<uint32_t>(world_.random.Between(1, 2));
  auto request = task.puller.Next(wanted, scheduler_.now());
  if (!request.has_value()) return;
  if (request->tells_cached() && world_.history.caches > 0) TellCached(*request);
  const uint64_t id = task.def.task();
  const uint64_t number = request->request_number();
  world_.network.Call<v1::LeaseSplitsRequest, v1::LeaseSplitsReply>(
      this, &DispatcherService::LeaseSplits, *request, absl::Milliseconds(300),
      GuardReply<v1::LeaseSplitsReply>(
          [this, id, number](absl::StatusOr<v1::LeaseSplitsReply> reply) {
            const auto it = tasks_.find(id);
            if (it == tasks_.end()) return;
            Task& asker = it->second;
            if (!reply.ok()) return asker.puller.OnFailure(number, scheduler_.now());
            LeasePuller::Answer answer = asker.puller.OnReply(number, *reply, scheduler_.now());
            if (answer.gone) return Forget(id);
            for (v1::Lease& lease : answer.leases) {
              if (world_.history.leases_lose_their_skip_sets) lease.clear_skip();
              Reading reading;
              for (const v1::Run& run : lease.skip()) {
                for (uint64_t i = run.first(); i < run.first() + run.count(); ++i) {
                  if (run.parts() <= 1) reading.skip.insert(i);
                  if (run.parts() > 1) reading.skip_part.insert({i, run.part()});
                }
              }
              reading.lease = lease;
              reading.next = lease.first_record();
              if (lease.end_record() != 0) reading.end = lease.end_record();
              asker.last_lease = lease;
              if (asker.satisfied) {
                Abandon(asker, lease);
              } else {
                asker.readings.push_back(std::move(reading));
              }
            }
          }));
}

void WorkerModel::TellCached(v1::LeaseSplitsRequest& request) {
  // As good as right: what is told and wrong may cost time alone.
  uint64_t last = 0;
  for (uint64_t split = 0; split < world_.history.splits; ++split) {
    if (!world_.random.Chance(world_.history.caches)) continue;
    request.add_cached_splits(static_cast<uint32_t>(split - last));
    last = split;
  }
}

v1::SplitReport WorkerModel::ReportOn(const Task& task, const v1::Lease& lease) const {
  v1::SplitReport report;
  report.set_task(task.def.task());
  report.set_lease(lease.number());
  report.set_split(lease.split().id());
  report.set_pass(lease.pass());
  return report;
}

void WorkerModel::Read(Task& task) {
  if (task.failed || task.out.size() >= 4) return;
  if (task.lane.has_value() && task.lane->kept() >= 6) return;  // until the slowest rank has some
  if (fail_once_) {
    fail_once_ = false;
    task.failed = true;
    v1::TaskError error;
    error.set_task(task.def.task());
    error.set_code(static_cast<uint32_t>(absl::StatusCode::kUnavailable));
    error.set_message("storage is away");
    reports_.Add(error);
    return;
  }
  if (task.readings.empty()) {
    if (task.puller.exhausted() || task.satisfied) MakeFrames(task, /*flush=*/true);
    return;
  }
  Reading& reading = task.readings.front();
  const uint64_t total =
      std::min(reading.end, RecordsOf(world_.history, reading.lease.split().id()));
  v1::SplitReport report = ReportOn(task, reading.lease);
  for (int i = 0; i < 3 && reading.next < total; ++i) {
    if (!ReadRecord(task, reading, report)) {
      if (report.settled_size() != 0) reports_.Add(report);
      Satisfy(task);
      return;
    }
    ++reading.next;
  }
  const bool end = reading.next >= total;
  report.set_read_to_end(end);
  report.set_records(end ? total : 0);
  if (end || report.settled_size() != 0) reports_.Add(report);
  if (end && task.lane.has_value() && reading.lease.ends_window()) {
    task.lane->EndWindow(reading.lease.window());
  }
  if (end) task.readings.pop_front();
  MakeFrames(task, /*flush=*/false);
}

void WorkerModel::Shed(Task& task) {
  if (task.readings.empty() || task.failed) return;
  const size_t at = world_.random.Between(0, task.readings.size() - 1);
  Reading& reading = task.readings[at];
  // Nobody knows how many records there are: cuts may lie behind them.
  const uint64_t most =
      std::min(reading.end, RecordsOf(world_.history, reading.lease.split().id()) + 2);
  if (reading.next >= most) return;
  v1::SplitReport report = ReportOn(task, reading.lease);
  uint64_t cut = world_.random.Between(reading.next, most - 1);
  const bool all = cut == reading.lease.first_record();
  const uint64_t end = cut;
  for (; cut < reading.end && report.cuts_size() < 3; cut += world_.random.Between(1, 4)) {
    report.add_cuts(cut);
  }
  reports_.Add(report);
  if (!world_.history.workers_read_past_their_cuts) reading.end = end;
  if (all) task.readings.erase(task.readings.begin() + static_cast<ptrdiff_t>(at));
}

bool WorkerModel::ReadRecord(Task& task, Reading& reading, v1::SplitReport& report) {
  const History& history = world_.history;
  const uint64_t split = reading.lease.split().id();
  const uint64_t record = reading.next;
  if (task.def.shard_by_record() && (split + record) % task.def.slots() != task.def.slot()) {
    return true;
  }
  const bool done = reading.skip.contains(record);
  if (done && !task.def.replay()) return true;
  RecordId id{split, record, 0, 1, reading.lease.pass()};
  if (Filtered(history, split, record) || Failing(history, split, record)) {
    FillRun(id, *report.add_settled());
    if (!Filtered(history, split, record)) {
      report.set_failed(report.failed() + 1);
      report.add_samples()->set_message("bad record");
    }
    return true;
  }
  // The `shard` step, after those that filter and fail; it drops without a word.
  if (history.sharding == v1::SHARDING_STATIC_HINT && task.def.slots() > 1 &&
      (split + record) % task.def.slots() != task.def.slot()) {
    return true;
  }
  id.parts = PartsOf(history, split, record);
  for (id.part = 0; id.part < id.parts; ++id.part) {
    const bool part_done = done || reading.skip_part.contains({record, id.part});
    if (part_done && !task.def.replay()) continue;
    if (task.skipped < history.skip) {
      ++task.skipped;
      if (part_done) continue;
      FillRun(id, *report.add_settled());
      world_.truth.Drop(task.def.epoch(), id);
      continue;
    }
    if (history.take != 0 && task.taken == history.take) return false;
    ++task.taken;
    task.passed[reading.lease.number()].push_back(id);
    if (task.lane.has_value()) {
      task.lane->Add(reading.lease.window(), id);
    } else if (!part_done) {
      task.held.push_back({id, reading.lease.number()});
    }
    if (history.workers_settle_what_they_emit) FillRun(id, *report.add_settled());
  }
  // Satisfied as soon as nothing more can pass.
  return history.take == 0 || task.taken < history.take;
}

void WorkerModel::Satisfy(Task& task) {
  task.satisfied = true;
  while (!task.readings.empty()) {
    Abandon(task, task.readings.front().lease);
    task.readings.pop_front();
  }
  MakeFrames(task, /*flush=*/true);
}

void WorkerModel::Abandon(Task& task, const v1::Lease& lease) {
  v1::SplitReport report = ReportOn(task, lease);
  report.set_abandoned(true);
  for (const RecordId& id : task.passed[lease.number()]) FillRun(id, *report.add_emitted());
  reports_.Add(report);
}

void WorkerModel::MakeFrames(Task& task, bool flush) {
  const size_t batch = world_.history.batch;
  const size_t keep = flush ? 0 : world_.history.shuffle;
  const bool cut_short = flush && !world_.history.drop_remainder;
  while (task.held.size() >= keep + batch || (cut_short && !task.held.empty())) {
    SimFrame frame;
    frame.task = task.def.task();
    while (frame.elements.size() < batch && !task.held.empty()) {
      const size_t at = world_.history.shuffle == 0 ? 0 : world_.random.Next() % task.held.size();
      frame.elements.push_back(task.held[at].id);
      task.held.erase(task.held.begin() + static_cast<ptrdiff_t>(at));
    }
    task.out.push_back(std::move(frame));
  }
  if (!flush) return;
  for (const Element& rest : task.held) {
    v1::Lease lease;
    lease.set_number(rest.lease);
    lease.mutable_split()->set_id(rest.id.split);
    lease.set_pass(rest.id.pass);
    v1::SplitReport report = ReportOn(task, lease);
    FillRun(rest.id, *report.add_settled());
    reports_.Add(report);
    world_.truth.Drop(task.def.epoch(), rest.id);
  }
  task.held.clear();
}

void WorkerModel::Transmit(const std::shared_ptr<SimStream>& stream, SimFrame frame) {
  --stream->credit;
  stream->last_arrival = std::max(stream->last_arrival, scheduler_.now() + world_.network.Delay());
  stream->under_way.push_back(std::move(frame));
  world_.network.Deliver(stream->last_arrival - scheduler_.now(), this, stream->client, [stream] {
    const SimFrame next = std::move(stream->under_way.front());
    stream->under_way.pop_front();
    if (!stream->broken) stream->client->OnFrame(stream, next);
  });
}

void WorkerModel::SendPieces(Task& task) {
  for (const auto& stream : streams_) {
    if (stream->task != task.def.task()) continue;
    while (stream->credit > 0) {
      auto view = task.lane->FrameFor(stream->next, stream->rank);
      if (view == nullptr) break;
      Transmit(stream, {task.def.task(), {}, std::move(view)});
      task.lane->Taken(stream->rank, ++stream->next);
    }
  }
}

void WorkerModel::Send(Task& task) {
  if (task.lane.has_value()) return SendPieces(task);
  while (!task.out.empty()) {
    std::vector<std::shared_ptr<SimStream>> ready;
    for (const auto& stream : streams_) {
      if (stream->task == task.def.task() && stream->credit > 0) ready.push_back(stream);
    }
    if (ready.empty()) return;
    const auto stream = ready[world_.random.Next() % ready.size()];
    Transmit(stream, std::move(task.out.front()));
    task.out.pop_front();
  }
}

void WorkerModel::OnOpen(const std::shared_ptr<SimStream>& stream) {
  Guard([this, stream] {
    if (stream->broken) return;
    if (!tasks_.contains(stream->task)) {
      world_.network.Deliver(world_.network.Delay(), this, stream->client,
                             [stream] { stream->client->OnRefused(stream); });
      return;
    }
    stream->worker_life = lives_;
    const Task& task = tasks_.at(stream->task);
    if (task.lane.has_value() && task.lane->Served(stream->rank)) {
      world_.network.Deliver(world_.network.Delay(), this, stream->client, [stream] {
        stream->client->OnOpened(stream);
        stream->client->OnBroken(stream);
      });
      return;
    }
    if (task.lane.has_value()) stream->next = task.lane->first();
    streams_.push_back(stream);
    world_.network.Deliver(world_.network.Delay(), this, stream->client,
                           [stream] { stream->client->OnOpened(stream); });
  })();
}

void WorkerModel::OnClosed(const std::shared_ptr<SimStream>& stream) {
  std::erase(streams_, stream);
}

}  // namespace headrace::sim
