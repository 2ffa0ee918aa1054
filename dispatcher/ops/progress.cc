#include "dispatcher/ops/progress.h"

#include <algorithm>
#include <set>
#include <utility>

#include "common/logging/logging.h"
#include "common/status.h"
#include "dispatcher/ops/reserved.h"
#include "dispatcher/ops/shed.h"
#include "dispatcher/ops/steps.h"
#include "dispatcher/sharding/policy.h"
#include "fmt/ranges.h"

namespace headrace::dispatch {
namespace {

// All workers together beat four thousand times a second at the most, as long as worker_beat lets
// them.
constexpr absl::Duration kEachWorker = absl::Microseconds(250);
constexpr absl::Duration kLeastWorkerBeat = absl::Milliseconds(100);

// A quota: of the workers that have no task of it yet, only so many as it may still have, those
// with the fewest tasks of others first. Draining ones count as long as they work.
void KeepQuota(const OpContext& context, const Job& job, std::vector<Candidate>& candidates) {
  const size_t most = job.options.most_workers();
  if (most == 0) return;
  size_t working = 0;
  for (const auto& [id, worker] : context.state().workers().all())
    working += job.epoch->active_tasks_of(id) > 0;
  std::vector<std::pair<size_t, WorkerId>> free;
  for (const Candidate& candidate : candidates) {
    if (candidate.tasks != 0) continue;
    size_t others = 0;
    for (const auto& [id, other] : context.state().jobs().all())
      others += other.epoch.has_value() ? other.epoch->active_tasks_of(candidate.worker) : 0;
    free.emplace_back(others, candidate.worker);
  }
  std::ranges::sort(free);
  const size_t more = std::min(free.size(), most - std::min(most, working));
  std::set<WorkerId> left_out;
  for (size_t i = more; i < free.size(); ++i) left_out.insert(free[i].second);
  std::erase_if(candidates, [&](const Candidate& c) { return left_out.contains(c.worker); });
}

// Ready workers with the number of their active tasks; those that had to be fenced too often, or
// stood still, only when there are no others.
std::vector<Candidate> Candidates(const OpContext& context, const Job& job) {
  const Epoch& epoch = *job.epoch;
  std::vector<Candidate> good;
  std::vector<Candidate> all;
  for (const WorkerId worker : ReadyFor(context.state(), job)) {
    const Candidate candidate{worker, epoch.active_tasks_of(worker)};
    all.push_back(candidate);
    if (WasStuck(context, job, worker)) continue;
    if (int64_t{epoch.StrikesOf(worker)} < context.config.max_strikes) good.push_back(candidate);
  }
  std::vector<Candidate>& chosen = good.empty() ? all : good;
  KeepQuota(context, job, chosen);
  return std::move(chosen);
}

}  // namespace

void AssignTasks(OpContext& context, JobId id) {
  const Job* job = context.state().jobs().Find(id);
  if (job == nullptr || !job->epoch.has_value() || job->epoch->readers().empty()) return;
  const Epoch& epoch = *job->epoch;
  if (epoch.Complete()) return;
  const auto policy = MakePolicy(job->options.sharding(), *job->dataset);
  const std::vector<Candidate> candidates = Candidates(context, *job);
  if (epoch.rebalanced() && epoch.active_tasks() != 0) return;  // one task shares out the rest
  for (const Placement& placement : policy->Place(epoch, candidates)) {
    if (epoch.rebalanced() && epoch.active_tasks() != 0) return;
    v1::Event event;
    v1::TaskAssigned& assigned = *event.mutable_task_assigned();
    assigned.set_task(context.state().next_task().value);
    assigned.set_job(id.value);
    assigned.set_epoch(epoch.number());
    assigned.set_worker(placement.worker.value);
    assigned.set_lane(placement.lane);
    // An ordered lane's window is always made as a whole: what is done of it is not left out.
    assigned.set_replay(epoch.ordered() || (job->dataset->single_task &&
                                            (!epoch.tasks().empty() || epoch.restored())));
    context.changes.Make(std::move(event));
  }
}

void MoveLanes(OpContext& context, JobId id) {
  const Job* job = context.state().jobs().Find(id);
  if (job == nullptr || !job->epoch.has_value() || !job->epoch->ordered()) return;
  const Epoch& epoch = *job->epoch;
  const auto unplaced = [](const Lane& lane) { return !lane.task && !lane.Done(); };
  if (epoch.readers().empty() || std::ranges::any_of(epoch.lanes(), unplaced)) return;
  const std::vector<TaskId> moved = LanesToMove(epoch, Candidates(context, *job));
  if (moved.empty()) return;
  FenceTasks(context, *job, moved, v1::FENCE_CAUSE_MOVED, "lanes move to workers that have fewer");
  AssignTasks(context, id);
}

void FinishEpochIfComplete(OpContext& context, JobId id) {
  const Job* job = context.state().jobs().Find(id);
  if (job == nullptr || !job->epoch.has_value()) return;
  if (IsUneven(*job)) return AdvanceSteps(context, id);
  if (!job->epoch->Complete()) return;
  // Somebody must have begun to read: an empty dataset is complete at once.
  v1::Event event;
  event.mutable_epoch_finished()->set_job(id.value);
  event.mutable_epoch_finished()->set_epoch(job->epoch->number());
  context.changes.Make(std::move(event));
}

void EndJob(OpContext& context, JobId id, absl::StatusCode code, std::string message) {
  const Job* job = context.state().jobs().Find(id);
  if (job == nullptr || job->ended) return;
  v1::Event event;
  v1::JobEnded& ended = *event.mutable_job_ended();
  ended.set_job(id.value);
  ended.set_code(static_cast<uint32_t>(code));
  ended.set_message(std::move(message));
  context.changes.Make(std::move(event));
}

void FenceTasks(OpContext& context, const Job& job, const std::vector<TaskId>& tasks,
                v1::FenceCause cause, std::string reason, bool unreported_client) {
  if (!job.epoch.has_value()) return;
  const Epoch& epoch = *job.epoch;
  v1::Event event;
  v1::TasksFenced& fenced = *event.mutable_tasks_fenced();
  for (const TaskId task : tasks) {
    if (epoch.FindActiveTask(task) != nullptr) fenced.add_tasks(task.value);
  }
  if (fenced.tasks().empty()) return;
  fenced.set_cause(cause);
  fenced.set_reason(std::move(reason));
  // At least once: frames of the old leases may be handed over while the new ones run. Ordered: the
  // next task's frames are the same, and clients know them by their places.
  if (job.options.visitation() != v1::VISITATION_AT_LEAST_ONCE && !epoch.ordered()) {
    for (const ClientId client : epoch.readers()) fenced.add_awaited(client.value);
  }
  // At most once: what may have been handed over unseen is not made again. A replay of counting
  // steps needs the whole lane, so their pipelines keep exactly once for lost workers.
  const bool worker_side = cause != v1::FENCE_CAUSE_CLIENT_GONE && cause != v1::FENCE_CAUSE_DRAINED;
  fenced.set_give_up(job.options.visitation() == v1::VISITATION_AT_MOST_ONCE &&
                     !job.dataset->single_task && !epoch.ordered() &&
                     (worker_side || unreported_client));
  context.changes.Make(std::move(event));
}

void RemoveWorker(OpContext& context, WorkerId worker, bool lost, std::string_view reason) {
  v1::Event event;
  event.mutable_worker_gone()->set_worker(worker.value);
  event.mutable_worker_gone()->set_lost(lost);
  context.changes.Make(std::move(event));
  context.liveness.Forget(worker);
  for (const auto& [id, job] : context.state().jobs().all()) {
    if (!job.epoch.has_value()) continue;
    FenceTasks(context, job, job.epoch->ActiveTasksOf(worker), v1::FENCE_CAUSE_WORKER_GONE,
               fmt::format("worker {} {}", worker.value, reason));
    FinishEpochIfComplete(context, id);
    AssignTasks(context, id);
  }
}

void RemoveClient(OpContext& context, ClientId client, bool lost) {
  const Client* found = context.state().clients().Find(client);
  if (found == nullptr) return;
  const JobId id = found->job;
  const uint32_t rank = found->rank;
  const Job* job = context.state().jobs().Find(id);
  const bool reads =
      job != nullptr && job->epoch.has_value() && job->epoch->readers().contains(client);
  v1::Event event;
  event.mutable_client_gone()->set_client(client.value);
  event.mutable_client_gone()->set_lost(lost);
  context.changes.Make(std::move(event));
  context.liveness.Forget(client);
  context.telemetry.loads.erase(client);
  context.telemetry.steps.erase(client);
  if (!reads) return;
  FinishEpochIfComplete(context, id);
  if (!job->epoch.has_value()) return;
  // Other ranks have their own parts of an ordered epoch; one that comes in its place finds what it
  // lacks by itself.
  if (job->epoch->ordered()) return;
  if (lost) {
    LogWarning(
        "job '{}': epoch {}: client {} (rank {}) was lost; its share goes to others, and what it "
        "was handed within its last report interval may come twice",
        job->name, job->epoch->number(), client.value, rank);
  }
  FenceTasks(context, *job, job->epoch->ActiveTasks(), v1::FENCE_CAUSE_CLIENT_GONE,
             fmt::format("client {} {}", client.value, lost ? "was lost" : "left"), lost);
  AssignTasks(context, id);
}

std::vector<ClientId> SilentReaders(OpContext& context, const Job& job) {
  std::vector<ClientId> silent;
  if (!job.epoch.has_value() || !job.WaitsForLostClients()) return silent;
  for (const ClientId client : job.epoch->readers()) {
    if (context.liveness.Silence(client, context.now) > context.config.client_timeout) {
      silent.push_back(client);
    }
  }
  return silent;
}

namespace {

std::string SilentReason(OpContext& context, const Job& job) {
  const std::vector<ClientId> silent = SilentReaders(context, job);
  if (silent.empty()) return "";
  const Client& client = *context.state().clients().Find(silent.front());
  const absl::Duration silence = context.liveness.Silence(client.id, context.now);
  return fmt::format(
      "waiting for client {} (rank {}{}), silent for {}{}: only it knows what it handed over. It "
      "may "
      "come back; a checkpoint may be restored; or `headrace jobs release {}` gives its share to "
      "the others (what it was handed within its last report interval may then come twice)",
      client.id.value, client.rank, client.host.empty() ? "" : " on " + client.host,
      absl::FormatDuration(absl::Trunc(silence, absl::Seconds(1))),
      silent.size() == 1 ? "" : fmt::format(" (and {} more)", silent.size() - 1), job.name);
}

}  // namespace

std::string ReplacedMessage(const Job& job) {
  return fmt::format(
      "job '{}' was restored from a checkpoint, or begun anew, by other trainers: this trainer was "
      "replaced, end it",
      job.name);
}

namespace {

// An ordered batch leaves a worker when every rank has taken its part of it, and with `uneven` no
// rank is ahead of another.
std::string MissingRanks(const State& state, const Job& job) {
  const uint32_t ranks = std::max(1u, job.options.world_size());
  std::set<uint32_t> missing;
  for (uint32_t rank = 0; rank < ranks; ++rank) missing.insert(rank);
  for (const ClientId reader : job.epoch->readers()) {
    if (const Client* client = state.clients().Find(reader)) missing.erase(client->rank);
  }
  if (missing.empty()) return "";
  return fmt::format("waiting for rank {} of {}: {} is read by all ranks", fmt::join(missing, ", "),
                     ranks,
                     job.epoch->ordered() ? "an ordered epoch" : "an epoch in step (`uneven`)");
}

}  // namespace

std::string WaitingReason(OpContext& context, const Job& job) {
  const State& state = context.state();
  if (!job.epoch.has_value()) return "";
  // The others go on while there is something to go on with.
  if (job.epoch->active_tasks() == 0 || job.epoch->pending() == 0) {
    if (std::string silent = SilentReason(context, job); !silent.empty()) return silent;
  }
  if (job.epoch->readers().empty()) return "waiting for clients: none reads the epoch";
  const bool by_all_ranks = job.epoch->ordered() || IsUneven(job);
  if (by_all_ranks && (job.epoch->active_tasks() != 0 || job.epoch->Complete())) {
    return MissingRanks(state, job);
  }
  if (job.epoch->active_tasks() != 0) return "";
  if (state.workers().live() == 0) return "waiting for workers: none is registered";
  if (state.workers().Ready().empty()) return "waiting for workers: all are draining";
  if (ReadyFor(state, job).empty())
    return "waiting for workers: those that are ready are kept for other jobs (tag job=NAME)";
  if (!job.epoch->fences().empty()) {
    return fmt::format("waiting for clients to confirm a fence: {}",
                       job.epoch->fences().front().reason);
  }
  return "waiting for workers";
}

absl::Duration ClientBeatPeriod(const DispatcherConfig& config, const Job& job) {
  if (!job.epoch.has_value()) return config.client_beat;
  if (IsUneven(job)) return std::min(config.client_beat, config.closing_beat);
  const Epoch& epoch = *job.epoch;
  if (!epoch.fences().empty()) return config.busy_beat;
  if (epoch.active_tasks() == 0 || epoch.pending() != 0) return config.client_beat;
  return epoch.leases().read_to_end() == epoch.leases().size() ? config.busy_beat
                                                               : config.closing_beat;
}

absl::Duration WorkerBeatPeriod(const OpContext& context, WorkerId worker) {
  // A few workers hear of new tasks sooner than thousands can ask.
  absl::Duration period =
      std::min(context.config.worker_beat,
               std::max(kLeastWorkerBeat,
                        kEachWorker * static_cast<int64_t>(context.state().workers().live())));
  for (const auto& [id, job] : context.state().jobs().all()) {
    if (!job.epoch.has_value() || job.epoch->pending() != 0) continue;
    // The end of an epoch waits for the reports of what is leased: they should not take half a
    // second.
    if (job.epoch->active_tasks_of(worker) != 0) {
      period = std::min(period, context.config.busy_beat);
    }
  }
  return period;
}

}  // namespace headrace::dispatch
