// ListJobs, ListWorkers, CancelJob, DrainWorker: what operators see and do. The first two change
// nothing; the others are idempotent.
#include <map>
#include <string>

#include "absl/strings/numbers.h"
#include "common/status.h"
#include "dispatcher/ops/ops.h"
#include "dispatcher/ops/progress.h"
#include "dispatcher/sharding/policy.h"

namespace headrace::dispatch {
namespace {

std::string StateOf(const State& state, const Job& job) {
  if (job.ended) {
    if (job.end_code == 0) return "finished";
    return job.end_code == static_cast<uint32_t>(absl::StatusCode::kCancelled) ? "cancelled"
                                                                               : "failed";
  }
  if (!job.epoch.has_value()) return job.finished.empty() ? "waiting" : "finished";
  return WaitingReason(state, job).empty() ? "running" : "waiting";
}

// Steps of all tasks, added up by name, in the order of the pipeline.
void AddSteps(const Telemetry& telemetry, const Epoch& epoch, v1::JobStatus& status) {
  std::map<std::string, int> positions;
  for (const auto& [id, task] : epoch.tasks()) {
    const auto stats = telemetry.stats.find(id);
    if (stats == telemetry.stats.end()) continue;
    for (const v1::StepStats& step : stats->second.steps()) {
      const auto [it, fresh] = positions.try_emplace(step.step(), status.steps_size());
      if (fresh) status.add_steps()->set_step(step.step());
      v1::StepStats& sum = *status.mutable_steps(it->second);
      sum.set_cpu_seconds(sum.cpu_seconds() + step.cpu_seconds());
      sum.set_rows_in(sum.rows_in() + step.rows_in());
      sum.set_rows_out(sum.rows_out() + step.rows_out());
      sum.set_bytes_in(sum.bytes_in() + step.bytes_in());
      sum.set_bytes_out(sum.bytes_out() + step.bytes_out());
      sum.set_failed(sum.failed() + step.failed());
    }
  }
}

void AddEpoch(const OpContext& context, const Job& job, v1::JobStatus& status) {
  const Epoch& epoch = *job.epoch;
  status.set_epoch(epoch.number());
  status.set_splits_retired(epoch.counts().retired);
  status.set_splits_leased(epoch.leases().size());
  status.set_tasks(epoch.active_tasks());
  status.set_fenced_tasks(epoch.FencedTasks().size());
  for (const v1::FailureSample& sample : epoch.failures()) *status.add_failures() = sample;
  AddSteps(context.telemetry, epoch, status);
}

void FillJob(const OpContext& context, const Job& job, v1::JobStatus& status) {
  status.set_job(job.id.value);
  status.set_name(job.name);
  status.set_state(StateOf(context.state(), job));
  status.set_pipeline(job.pipeline.name());
  status.set_sharding(std::string(ShardingName(job.options.sharding())));
  status.set_epoch(job.next_epoch == 0 ? 0 : job.next_epoch - 1);
  status.set_splits(job.dataset == nullptr ? 0 : job.dataset->splits.size());
  status.set_delivered(job.past.delivered);
  status.set_settled(job.past.settled);
  status.set_failed(job.past.failed);
  status.set_clients(job.clients.size());
  status.set_error(job.ended ? job.end_message : WaitingReason(context.state(), job));
  if (job.epoch.has_value()) {
    AddEpoch(context, job, status);
    status.set_delivered(status.delivered() + job.epoch->counts().delivered);
    status.set_settled(status.settled() + job.epoch->counts().settled);
    status.set_failed(status.failed() + job.epoch->counts().failed);
  } else if (!job.finished.empty()) {
    *status.mutable_failures() = job.finished.rbegin()->second.summary.failures();
  }
  double wait = 0;
  double step = 0;
  for (const ClientId client : job.clients) {
    const auto load = context.telemetry.loads.find(client);
    if (load == context.telemetry.loads.end()) continue;
    wait += load->second.wait_seconds();
    step += load->second.step_seconds();
  }
  if (wait + step > 0) status.set_stall_fraction(wait / (wait + step));
}

std::string StateOf(const Worker& worker) {
  switch (worker.state) {
    case WorkerState::kReady:
      return "ready";
    case WorkerState::kDraining:
      return "draining";
    case WorkerState::kLost:
      return "lost";
    default:
      return "left";
  }
}

const Worker* FindWorker(const State& state, const std::string& words) {
  uint64_t id = 0;
  if (absl::SimpleAtoi(words, &id)) {
    const Worker* worker = state.workers().Find(WorkerId(id));
    return worker != nullptr && worker->live() ? worker : nullptr;
  }
  return state.workers().FindByAddress(words);
}

}  // namespace

absl::StatusOr<v1::ListJobsReply> ListJobs(OpContext& context, const v1::ListJobsRequest& request) {
  v1::ListJobsReply reply;
  for (const auto& [id, job] : context.state().jobs().all()) {
    if (request.job_name().empty() || request.job_name() == job.name) {
      FillJob(context, job, *reply.add_jobs());
    }
  }
  return reply;
}

absl::StatusOr<v1::ListWorkersReply> ListWorkers(OpContext& context,
                                                 const v1::ListWorkersRequest&) {
  v1::ListWorkersReply reply;
  for (const auto& [id, worker] : context.state().workers().all()) {
    v1::WorkerStatus& status = *reply.add_workers();
    status.set_worker(id.value);
    status.set_address(worker.address);
    status.set_host(worker.host);
    for (const std::string& transport : worker.transports) status.add_transports(transport);
    status.set_state(StateOf(worker));
    status.set_cores(worker.cores);
    if (!worker.live()) continue;
    status.set_seconds_since_beat(absl::ToDoubleSeconds(context.liveness.Silence(id, context.now)));
    for (const auto& [job_id, job] : context.state().jobs().all()) {
      if (!job.epoch.has_value()) continue;
      for (const TaskId task : job.epoch->ActiveTasksOf(id)) {
        status.set_tasks(status.tasks() + 1);
        status.set_leases(status.leases() + job.epoch->FindTask(task)->leases.size());
      }
    }
  }
  return reply;
}

absl::StatusOr<v1::CancelJobReply> CancelJob(OpContext& context,
                                             const v1::CancelJobRequest& request) {
  const Job* job = context.state().jobs().FindLatest(request.job_name());
  if (job == nullptr) return NotFound("no job '{}'", request.job_name());
  EndJob(context, job->id, absl::StatusCode::kCancelled, "cancelled by an operator");
  return v1::CancelJobReply();
}

absl::StatusOr<v1::DrainWorkerReply> DrainWorker(OpContext& context,
                                                 const v1::DrainWorkerRequest& request) {
  const Worker* worker = FindWorker(context.state(), request.worker());
  if (worker == nullptr) {
    return NotFound("no worker '{}'; give its id or address as `headrace workers` prints them",
                    request.worker());
  }
  if (worker->state == WorkerState::kReady) {
    v1::Event event;
    event.mutable_worker_draining()->set_worker(worker->id.value);
    context.changes.Make(std::move(event));
  }
  return v1::DrainWorkerReply();
}

}  // namespace headrace::dispatch
