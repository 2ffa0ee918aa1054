// ListJobs, ListWorkers, CancelJob, DrainWorker, ReleaseJob: what operators see and do. The first
// two change nothing; the others are idempotent.
#include <algorithm>
#include <map>
#include <string>

#include "absl/strings/numbers.h"
#include "common/status.h"
#include "dispatcher/ops/ops.h"
#include "dispatcher/ops/progress.h"
#include "dispatcher/sharding/policy.h"

namespace headrace::dispatch {
namespace {

std::string StateOf(OpContext& context, const Job& job) {
  if (job.ended) {
    if (job.end_code == 0) return "finished";
    return job.end_code == static_cast<uint32_t>(absl::StatusCode::kCancelled) ? "cancelled"
                                                                               : "failed";
  }
  if (!job.epoch.has_value()) return job.finished.empty() ? "waiting" : "finished";
  return WaitingReason(context, job).empty() ? "running" : "waiting";
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

void FillCounts(const EpochCounts& counts, v1::EpochStatus& status) {
  status.set_delivered(counts.delivered);
  status.set_restored(counts.restored);
  status.set_settled(counts.settled);
  status.set_failed(counts.failed);
  status.set_skipped(counts.skipped);
  status.set_pieces(counts.pieces);
}

// The last few epochs, the running one with what is on its way.
void AddEpochs(const Job& job, v1::JobStatus& status) {
  for (const auto& [number, finished] : job.finished) {
    v1::EpochStatus& epoch = *status.add_epochs();
    epoch.set_epoch(number);
    epoch.set_state(finished.abandoned ? "abandoned" : "finished");
    FillCounts(finished.counts, epoch);
  }
  if (!job.epoch.has_value()) return;
  v1::EpochStatus& epoch = *status.add_epochs();
  epoch.set_epoch(job.epoch->number());
  epoch.set_state("running");
  FillCounts(job.epoch->counts(), epoch);
  for (const auto& [number, lease] : job.epoch->leases().all()) {
    const uint64_t owed = job.epoch->Owed(lease).value_or(0);
    if (job.epoch->FindActiveTask(lease.task) != nullptr) {
      epoch.set_leased(epoch.leased() + owed);
      epoch.set_leased_splits(epoch.leased_splits() + 1);
    } else {
      epoch.set_fenced(epoch.fenced() + owed);
      epoch.set_fenced_splits(epoch.fenced_splits() + 1);
    }
  }
}

void FillJob(OpContext& context, const Job& job, v1::JobStatus& status) {
  status.set_job(job.id.value);
  status.set_name(job.name);
  status.set_state(StateOf(context, job));
  status.set_pipeline(job.pipeline.name());
  const bool ordered = job.options.ordering() == v1::ORDERING_DETERMINISTIC;
  status.set_sharding(ordered ? "ordered" : std::string(ShardingName(job.options.sharding())));
  status.set_epoch(job.next_epoch == 0 ? 0 : job.next_epoch - 1);
  status.set_splits(job.dataset == nullptr ? 0 : job.dataset->splits.size());
  status.set_delivered(job.past.delivered);
  status.set_settled(job.past.settled);
  status.set_failed(job.past.failed);
  status.set_clients(job.clients.size());
  status.set_error(job.ended ? job.end_message : WaitingReason(context, job));
  AddEpochs(job, status);
  for (const std::string& warning : job.warnings) status.add_warnings(warning);
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

absl::StatusOr<v1::ReleaseJobReply> ReleaseJob(OpContext& context,
                                               const v1::ReleaseJobRequest& request) {
  const Job* job = context.state().jobs().FindRunning(request.job_name());
  if (job == nullptr) return NotFound("no job '{}' is running", request.job_name());
  v1::ReleaseJobReply reply;
  for (const ClientId id : SilentReaders(context, *job)) {
    const Client& client = *context.state().clients().Find(id);
    reply.add_clients(
        fmt::format("client {} (rank {}), silent for {}", id.value, client.rank,
                    absl::FormatDuration(
                        absl::Trunc(context.liveness.Silence(id, context.now), absl::Seconds(1)))));
    RemoveClient(context, id, /*lost=*/true);
  }
  return reply;
}

}  // namespace headrace::dispatch
