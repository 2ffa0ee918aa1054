// ObserveFleet: the counts that the orchestrator measures by. Changes nothing.
#include "dispatcher/ops/observe_fleet.h"

#include "dispatcher/ops/claim.h"
#include "dispatcher/ops/progress.h"

namespace headrace::dispatch {
namespace {

void FillClients(const OpContext& context, const Job& job, v1::FleetJob& out) {
  for (const ClientId id : job.clients) {
    v1::FleetClient& client = *out.add_clients();
    client.set_client(id.value);
    if (const Client* known = context.state().clients().Find(id)) client.set_rank(known->rank);
    client.set_reads(job.epoch.has_value() && job.epoch->readers().contains(id));
    const auto load = context.telemetry.loads.find(id);
    if (load == context.telemetry.loads.end()) continue;
    client.set_measured(true);
    client.set_step_seconds(load->second.step_seconds());
    client.set_wait_seconds(load->second.wait_seconds());
    client.set_elements(load->second.elements());
    client.set_bytes(load->second.bytes());
    client.set_queue_fill(load->second.queue_fill());
  }
}

void FillTasks(const OpContext& context, const Epoch& epoch, v1::FleetJob& out) {
  for (const auto& [id, task] : epoch.tasks()) {
    const auto stats = context.telemetry.stats.find(id);
    if (task.fenced || stats == context.telemetry.stats.end()) continue;
    v1::FleetTask& filled = *out.add_tasks();
    filled.set_task(id.value);
    filled.set_worker(task.worker.value);
    for (const v1::StepStats& step : stats->second.steps()) {
      v1::FleetStep& sum = *filled.add_steps();
      sum.set_step(step.step());
      sum.set_cpu_seconds(step.cpu_seconds());
      sum.set_rows_in(step.rows_in());
      sum.set_rows_out(step.rows_out());
      sum.set_bytes_in(step.bytes_in());
      sum.set_bytes_out(step.bytes_out());
      sum.set_blocks(step.blocks());
      sum.set_cpu_square(step.cpu_square());
      sum.set_wall_seconds(step.wall_seconds());
    }
  }
}

// All that it knows, each time: what it leaves out is taken back.
void TakePlacements(OpContext& context, const v1::ObserveFleetRequest& request) {
  context.telemetry.caches.clear();
  for (const v1::JobCache& cache : request.caches()) {
    const JobId id(cache.job());
    if (context.state().jobs().Find(id) != nullptr) context.telemetry.caches[id] = cache;
  }
}

// Only where it is asked for: pipelines may carry functions.
void FillMake(const OpContext& context, const Job& job, v1::FleetJob& out) {
  *out.mutable_pipeline() = job.pipeline;
  if (job.dataset != nullptr) {
    *out.mutable_source_schema() = job.dataset->source_schema;
    out.set_dataset_version(job.dataset->version);
  }
  const auto told = context.telemetry.caches.find(job.id);
  if (told == context.telemetry.caches.end()) return;
  if (told->second.has_placement()) *out.mutable_placement() = told->second.placement();
  if (told->second.has_plan()) *out.mutable_plan() = told->second.plan();
}

uint64_t RecordsDone(const EpochCounts& counts) { return counts.delivered + counts.settled; }

void FillRecords(const Job& job, v1::FleetJob& out) {
  if (job.epoch.has_value()) out.set_records_done(RecordsDone(job.epoch->counts()));
  for (const auto& [number, epoch] : job.finished) {  // the last one counts
    if (!epoch.abandoned) out.set_epoch_records(RecordsDone(epoch.counts));
  }
}

void FillJob(OpContext& context, const Job& job, bool make, v1::FleetJob& out) {
  out.set_job(job.id.value);
  out.set_name(job.name);
  out.set_weight(WeightOf(job.options));
  out.set_priority(job.options.priority());
  out.set_least_workers(job.options.least_workers());
  out.set_most_workers(job.options.most_workers());
  out.set_splits(job.dataset == nullptr ? 0 : job.dataset->splits.size());
  out.set_cache(job.options.cache());
  out.set_epochs(job.options.epochs());
  FillClients(context, job, out);
  FillRecords(job, out);
  if (make) FillMake(context, job, out);
  if (!job.epoch.has_value()) return;
  const Epoch& epoch = *job.epoch;
  out.set_epoch(epoch.number());
  out.set_running(!epoch.readers().empty() && !epoch.Complete());
  out.set_waits_for_workers(out.running() && epoch.active_tasks() == 0);
  out.set_waiting(WaitingReason(context, job));
  out.set_splits_retired(epoch.counts().retired);
  FillTasks(context, epoch, out);
}

void FillWorker(OpContext& context, const Worker& worker, v1::FleetWorker& out) {
  out.set_worker(worker.id.value);
  out.set_address(worker.address);
  out.set_host(worker.host);
  for (const std::string& tag : worker.tags) out.add_tags(tag);
  out.set_state(worker.state == WorkerState::kDraining ? "draining" : "ready");
  out.set_cores(worker.cores);
  out.set_seconds_since_beat(
      absl::ToDoubleSeconds(context.liveness.Silence(worker.id, context.now)));
  for (const auto& [id, job] : context.state().jobs().all()) {
    if (job.epoch.has_value()) out.set_tasks(out.tasks() + job.epoch->active_tasks_of(worker.id));
  }
}

}  // namespace

v1::ObserveFleetReply ObserveFleet(OpContext& context, const v1::ObserveFleetRequest& request) {
  const std::string& job_name = request.job_name();
  if (request.orchestrator() != 0) TakePlacements(context, request);
  v1::ObserveFleetReply reply;
  reply.set_cluster(context.state().cluster());
  reply.set_at_seconds(absl::ToDoubleSeconds(context.now));
  for (const auto& [id, job] : context.state().jobs().all()) {
    if (job.ended || (!job_name.empty() && job_name != job.name)) continue;
    FillJob(context, job, request.pipelines(), *reply.add_jobs());
  }
  for (const auto& [id, worker] : context.state().workers().all()) {
    if (worker.state == WorkerState::kLost) reply.set_workers_lost(reply.workers_lost() + 1);
    if (worker.live()) FillWorker(context, worker, *reply.add_workers());
  }
  return reply;
}

}  // namespace headrace::dispatch
