// ClientBeat: what was delivered, which fences are confirmed, and what the client should know.
// Idempotent: sets are united.
#include <algorithm>
#include <utility>

#include "common/status.h"
#include "dispatcher/ops/cluster.h"
#include "dispatcher/ops/limits.h"
#include "dispatcher/ops/ops.h"
#include "dispatcher/ops/progress.h"
#include "dispatcher/ops/steps.h"

namespace headrace::dispatch {
namespace {

// The order matters: a confirmation says that no more deliveries will come, so those of the same
// message count first.
void TakeReport(OpContext& context, const Epoch& epoch, const v1::ClientBeatRequest& request) {
  v1::Event runs;
  v1::RunsDelivered& delivered = *runs.mutable_runs_delivered();
  const uint32_t rank = context.state().clients().Find(ClientId(request.client()))->rank;
  for (const v1::TaskRuns& dropped : request.dropped()) {
    // Windows that the rank is past are told by each beat.
    if (dropped.task() != 0 || !epoch.HasPassed(rank, dropped)) *delivered.add_dropped() = dropped;
  }
  if (request.delivered_size() + delivered.dropped_size() != 0) {
    delivered.set_client(request.client());
    delivered.set_epoch(request.epoch());
    *delivered.mutable_delivered() = request.delivered();
    context.changes.Make(std::move(runs));
  }
  v1::Event event;
  v1::FenceConfirmed& confirmed = *event.mutable_fence_confirmed();
  confirmed.set_client(request.client());
  for (const TaskId awaited : epoch.FencesFor(ClientId(request.client()))) {
    if (std::ranges::count(request.confirmed_fences(), awaited.value) != 0) {
      confirmed.add_tasks(awaited.value);
    }
  }
  if (confirmed.tasks_size() != 0) context.changes.Make(std::move(event));
}

void FenceBroken(OpContext& context, const Job& job, const v1::ClientBeatRequest& request) {
  std::vector<TaskId> broken;
  for (const uint64_t task : request.broken_tasks()) broken.emplace_back(task);
  FenceTasks(context, job, broken, v1::FENCE_CAUSE_STREAM_BROKEN,
             fmt::format("client {} lost its stream", request.client()));
}

// Facts about splits for the client's saved state: those that follow each other in one span.
void FillNeeds(const Epoch& epoch, const v1::ClientBeatRequest& request,
               v1::ClientBeatReply& reply) {
  constexpr size_t kMostNeeds = 8192;
  uint64_t seen = request.needs_seen();
  v1::SplitSpan* span = nullptr;
  for (const auto& [item, need] : epoch.NeedsFor(ClientId(request.client()), seen, kMostNeeds)) {
    const bool follows = span != nullptr && span->pass() == item.pass &&
                         span->split() + static_cast<uint64_t>(span->numbers_size()) == item.split;
    if (!follows) {
      span = reply.add_needs();
      span->set_split(item.split);
      span->set_pass(item.pass);
    }
    span->add_numbers(need);
  }
  reply.set_needs_seen(seen);
}

void FillRunning(OpContext& context, const Job& job, const v1::ClientBeatRequest& request,
                 v1::ClientBeatReply& reply) {
  const Epoch& epoch = *job.epoch;
  for (const TaskId task : epoch.FencesFor(ClientId(request.client()))) {
    reply.add_fences(task.value);
  }
  reply.set_tasks_version(epoch.tasks_version());
  if (request.tasks_version() != epoch.tasks_version()) {
    reply.set_tasks_changed(true);
    AppendTasks(context.state(), epoch, reply.mutable_tasks());
  }
  if (IsUneven(job)) {
    reply.set_steps_granted(epoch.steps_granted());
    if (epoch.steps_final()) reply.set_steps_final(epoch.steps_granted());
    reply.set_steps_hold(StepsHold(epoch));
  }
  FillNeeds(epoch, request, reply);
  reply.set_waiting(WaitingReason(context, job));
}

}  // namespace

absl::StatusOr<v1::ClientBeatReply> ClientBeat(OpContext& context,
                                               const v1::ClientBeatRequest& request) {
  RunBudget budget(context.config.limits);
  for (const v1::TaskRuns& runs : request.delivered())
    HR_RETURN_IF_ERROR(budget.Check(runs.runs()));
  for (const v1::TaskRuns& runs : request.dropped()) HR_RETURN_IF_ERROR(budget.Check(runs.runs()));
  v1::ClientBeatReply reply;
  const ClientId id(request.client());
  const Job* job = context.state().JobOf(id);
  const Job* named = context.state().jobs().Find(JobId(request.job()));
  const bool ours = !OfAnotherCluster(context, request.cluster());
  if (ours && named != nullptr && named->Replaced(request.incarnation())) {
    reply.mutable_failure()->set_code(static_cast<uint32_t>(absl::StatusCode::kCancelled));
    reply.mutable_failure()->set_message(ReplacedMessage(*named));
    return reply;
  }
  if (job == nullptr || job->id.value != request.job() || !ours) {
    reply.set_unknown_client(true);
    return reply;
  }
  context.liveness.Saw(id, context.now);
  if (request.has_load()) context.telemetry.loads[id] = request.load();
  const auto running = [&] {
    return job->epoch.has_value() && job->epoch->number() == request.epoch() &&
           job->epoch->readers().contains(id);
  };
  if (running()) {
    TakeReport(context, *job->epoch, request);
    if (request.has_steps()) {
      v1::StepsReport& steps = context.telemetry.steps[id];
      if (request.steps().sequence() >= steps.sequence()) steps = request.steps();
    }
    FenceBroken(context, *job, request);
    FinishEpochIfComplete(context, job->id);
    // A single task's successor waits for the last confirmation; all else that may be due is the
    // duties'.
    if (request.confirmed_fences_size() + request.broken_tasks_size() != 0) {
      AssignTasks(context, job->id);
    }
  }
  reply.set_acknowledged_report(request.report_number());
  if (job->ended) {
    const bool cancelled = job->end_code == 0;
    reply.mutable_failure()->set_code(
        cancelled ? static_cast<uint32_t>(absl::StatusCode::kCancelled) : job->end_code);
    reply.mutable_failure()->set_message(job->end_message);
  }
  if (running()) {
    FillRunning(context, *job, request, reply);
  } else if (const auto it = job->finished.find(request.epoch());
             it != job->finished.end() && !job->ended) {
    reply.set_epoch_finished(true);
    *reply.mutable_summary() = it->second.summary;
  }
  reply.set_beat_milliseconds(
      static_cast<uint32_t>(absl::ToInt64Milliseconds(ClientBeatPeriod(context.config, *job))));
  return reply;
}

void AppendTasks(const State& state, const Epoch& epoch,
                 google::protobuf::RepeatedPtrField<v1::TaskAddress>* tasks) {
  for (const auto& [id, task] : epoch.tasks()) {
    const Worker* worker = task.fenced ? nullptr : state.workers().Find(task.worker);
    if (worker == nullptr) continue;
    v1::TaskAddress* address = tasks->Add();
    address->set_task(id.value);
    address->set_worker(worker->id.value);
    address->set_address(worker->address);
    address->set_lane(task.lane);
    for (const std::string& transport : worker->transports) address->add_transports(transport);
  }
}

}  // namespace headrace::dispatch
