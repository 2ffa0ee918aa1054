// WorkerBeat: what a worker read and settled, and which tasks it should run. Idempotent: sets are
// united, tasks named by number.
#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "common/status.h"
#include "dispatcher/ops/claim.h"
#include "dispatcher/ops/cluster.h"
#include "dispatcher/ops/errors.h"
#include "dispatcher/ops/limits.h"
#include "dispatcher/ops/ops.h"
#include "dispatcher/ops/progress.h"
#include "dispatcher/ops/shed.h"

namespace headrace::dispatch {
namespace {

// Jobs that the message may have moved on.
std::set<JobId> TakeReports(OpContext& context, const v1::WorkerBeatRequest& request) {
  std::set<JobId> jobs;
  v1::Event event;
  v1::SplitsReported& reported = *event.mutable_splits_reported();
  reported.set_worker(request.worker());
  for (const v1::SplitReport& report : request.splits()) {
    const Job* job = context.state().JobOf(TaskId(report.task()));
    if (job == nullptr || job->epoch->FindActiveTask(TaskId(report.task())) == nullptr) continue;
    jobs.insert(job->id);
    *reported.add_splits() = report;
  }
  if (reported.splits_size() != 0) context.changes.Make(std::move(event));
  return jobs;
}

// Where the task keeps rows, if it is not where the pipeline says.
void FillCache(const OpContext& context, const Job& job, v1::TaskDef& def) {
  if (job.options.cache() == v1::CACHING_OFF) def.mutable_cache()->set_none(true);
  if (job.options.cache() != v1::CACHING_AUTO) return;
  const auto told = context.telemetry.caches.find(job.id);
  if (told != context.telemetry.caches.end() && told->second.has_placement())
    *def.mutable_cache() = told->second.placement();
}

void FillTask(const OpContext& context, const Job& job, const Task& task, v1::TaskDef& def) {
  const v1::LaneDef& lane = job.epoch->lanes()[task.lane].def();
  def.set_task(task.id.value);
  def.set_job(job.id.value);
  def.set_epoch(job.epoch->number());
  *def.mutable_pipeline() = job.pipeline;
  *def.mutable_source_schema() = job.dataset->source_schema;
  def.set_dataset_version(job.dataset->version);
  def.set_slot(lane.slot());
  def.set_slots(lane.slots());
  // With a hint the pipeline itself drops other slots' records, where it says so.
  def.set_shard_by_record(lane.by_record() && job.options.sharding() != v1::SHARDING_STATIC_HINT);
  def.set_weight(EffectiveWeight(job.options));
  def.set_cluster(context.state().cluster());
  FillCache(context, job, def);
  if (lane.has_ordered()) {
    v1::OrderedTask& ordered = *def.mutable_ordered();
    ordered.set_lane(lane.ordered().lane());
    ordered.set_lanes(lane.ordered().lanes());
    ordered.set_ranks(std::max(1u, job.options.world_size()));
    ordered.set_batch_rows(job.dataset->ordered->batch_rows());
  } else {
    def.set_replay(task.replay);
  }
}

// start, stop and wake; true when the worker's tasks hold no open lease.
bool FillTasks(const OpContext& context, WorkerId worker, const v1::WorkerBeatRequest& request,
               v1::WorkerBeatReply& reply) {
  absl::flat_hash_set<uint64_t> running(request.running_tasks().begin(),
                                        request.running_tasks().end());
  bool empty = true;
  for (const auto& [id, job] : context.state().jobs().all()) {
    if (!job.epoch.has_value()) continue;
    for (const TaskId task_id : job.epoch->ActiveTasksOf(worker)) {
      const Task& task = *job.epoch->FindTask(task_id);
      if (!task.leases.empty()) empty = false;
      if (running.erase(task_id.value) == 0) {
        FillTask(context, job, task, *reply.add_start());
      } else if (task.exhausted && job.epoch->lanes()[task.lane].has_pending()) {
        reply.add_wake(task_id.value);
      }
    }
  }
  for (const uint64_t task : running) reply.add_stop(task);
  std::ranges::sort(*reply.mutable_stop());
  return empty;
}

// A draining worker's tasks that hold no lease any more are closed, and their lanes given to
// others.
void CloseDrained(OpContext& context, WorkerId worker) {
  for (const auto& [id, job] : context.state().jobs().all()) {
    if (!job.epoch.has_value()) continue;
    std::vector<TaskId> done;
    for (const TaskId task : job.epoch->ActiveTasksOf(worker)) {
      // Counting steps and windows cannot be handed on half done: their successor makes them again.
      if (job.epoch->FindTask(task)->leases.empty() || job.dataset->single_task ||
          job.epoch->ordered()) {
        done.push_back(task);
      }
    }
    FenceTasks(context, job, done, v1::FENCE_CAUSE_DRAINED,
               fmt::format("worker {} drains", worker.value));
    FinishEpochIfComplete(context, id);
    AssignTasks(context, id);
  }
}

}  // namespace

absl::StatusOr<v1::WorkerBeatReply> WorkerBeat(OpContext& context,
                                               const v1::WorkerBeatRequest& request) {
  RunBudget budget(context.config.limits);
  for (const v1::SplitReport& report : request.splits()) {
    HR_RETURN_IF_ERROR(budget.Check(report.settled()));
    HR_RETURN_IF_ERROR(budget.Check(report.emitted()));
    HR_RETURN_IF_ERROR(budget.CheckCuts(report.cuts()));
  }
  v1::WorkerBeatReply reply;
  const WorkerId id(request.worker());
  const Worker* worker = context.state().workers().Find(id);
  if (OfAnotherCluster(context, request.cluster())) {
    reply.set_unknown_worker(true);
    return reply;
  }
  if (worker == nullptr || worker->uid != request.worker_uid() || !worker->live()) {
    // One that drained may have missed the answer that let it go.
    reply.set_drained(worker != nullptr && worker->uid == request.worker_uid() &&
                      worker->state == WorkerState::kLeft);
    reply.set_unknown_worker(!reply.drained());
    return reply;
  }
  context.liveness.Saw(id, context.now);
  if (request.draining() && worker->state == WorkerState::kReady) {
    v1::Event event;
    event.mutable_worker_draining()->set_worker(id.value);
    context.changes.Make(std::move(event));
  }
  for (const v1::TaskStats& stats : request.stats()) {
    if (context.state().JobOf(TaskId(stats.task())) != nullptr) {
      context.telemetry.stats[TaskId(stats.task())] = stats;
    }
  }
  const std::set<JobId> jobs = TakeReports(context, request);
  TakeErrors(context, id, request);
  for (const JobId job : jobs) {
    CheckErrorBudget(context, job);
    FinishEpochIfComplete(context, job);
  }
  reply.set_acknowledged_report(request.report_number());
  if (request.leaving()) {
    RemoveWorker(context, id, /*lost=*/false, "stopped");
    reply.set_drained(true);
    return reply;
  }
  if (worker->state == WorkerState::kDraining) CloseDrained(context, id);
  reply.set_beat_milliseconds(
      static_cast<uint32_t>(absl::ToInt64Milliseconds(WorkerBeatPeriod(context, id))));
  const bool empty = FillTasks(context, id, request, reply);
  if (worker->state == WorkerState::kDraining && empty) {
    reply.set_drained(true);
    RemoveWorker(context, id, /*lost=*/false, "left");
    return reply;
  }
  FillShed(context, id, request, reply);
  return reply;
}

}  // namespace headrace::dispatch
