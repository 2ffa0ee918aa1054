#include "dispatcher/dispatcher_metrics.h"

#include <algorithm>
#include <set>
#include <utility>

namespace headrace {
namespace {

constexpr char kCachedHelp[] = "Leases of jobs with caches, by who has their rows";
constexpr char kRecordsHelp[] =
    "Elements delivered, records settled without output, failed, and left out of leases as done";

void Raise(Counter& counter, uint64_t& shown, uint64_t total) {
  if (total <= shown) return;
  counter.Add(static_cast<int64_t>(total - shown));
  shown = total;
}

}  // namespace

DispatcherMetrics::DispatcherMetrics(Metrics& metrics)
    : metrics_(metrics),
      leader_(metrics.AddGauge("headrace_dispatcher_leader",
                               "1: this dispatcher leads; a lone one always does")),
      terms_(
          metrics.AddCounter("headrace_dispatcher_terms_total", "How often it became the leader")),
      jobs_(metrics.AddGauge("headrace_dispatcher_jobs", "Jobs that run")),
      clients_(metrics.AddGauge("headrace_dispatcher_clients", "Clients of all jobs")),
      workers_ready_(metrics.AddGauge("headrace_dispatcher_workers", "Registered workers",
                                      {{"state", "ready"}})),
      workers_draining_(metrics.AddGauge("headrace_dispatcher_workers", "Registered workers",
                                         {{"state", "draining"}})),
      leases_open_(
          metrics.AddGauge("headrace_dispatcher_leases", "Leases of splits", {{"state", "open"}})),
      leases_fenced_(metrics.AddGauge("headrace_dispatcher_leases", "Leases of splits",
                                      {{"state", "fenced"}})),
      fences_waiting_(metrics.AddGauge("headrace_dispatcher_fences_waiting",
                                       "Fences that clients have yet to confirm")),
      leased_here_(metrics.AddCounter("headrace_dispatcher_cached_leases_total", kCachedHelp,
                                      {{"cached", "here"}})),
      leased_cold_(metrics.AddCounter("headrace_dispatcher_cached_leases_total", kCachedHelp,
                                      {{"cached", "nowhere"}})),
      leased_elsewhere_(metrics.AddCounter("headrace_dispatcher_cached_leases_total", kCachedHelp,
                                           {{"cached", "elsewhere"}})),
      held_back_(metrics.AddCounter("headrace_dispatcher_held_back_total",
                                    "Requests for leases that were told to leave the rest to the "
                                    "workers that have it cached")) {}

DispatcherMetrics::JobSeries& DispatcherMetrics::SeriesOf(const dispatch::Job& job) {
  const auto [it, fresh] = by_job_.try_emplace(job.name);
  JobSeries& series = it->second;
  if (!fresh) return series;
  const auto records = [&](const char* outcome) {
    return metrics_.AddCounter("headrace_dispatcher_records_total", kRecordsHelp,
                               {{"job", job.name}, {"outcome", outcome}});
  };
  const auto splits = [&](const char* state) {
    return metrics_.AddGauge("headrace_dispatcher_splits", "Splits of the running epoch",
                             {{"job", job.name}, {"state", state}});
  };
  series.delivered = records("delivered");
  series.settled = records("settled");
  series.failed = records("failed");
  series.skipped = records("skipped");
  series.pieces = metrics_.AddCounter("headrace_dispatcher_pieces_total",
                                      "Splits and parts of splits that a worker left to others",
                                      {{"job", job.name}});
  series.pending = splits("pending");
  series.leased = splits("leased");
  series.clients =
      metrics_.AddGauge("headrace_dispatcher_job_clients", "Clients of a job", {{"job", job.name}});
  series.epoch = metrics_.AddGauge("headrace_dispatcher_job_epoch", "Epoch that runs or ran last",
                                   {{"job", job.name}});
  series.wait = metrics_.AddSecondsCounter("headrace_client_wait_seconds_total",
                                           "Time that a job's trainers asked and had nothing",
                                           {{"job", job.name}});
  series.step = metrics_.AddSecondsCounter("headrace_client_step_seconds_total",
                                           "Time that a job's trainers spent on their batches",
                                           {{"job", job.name}});
  series.stalled = metrics_.AddGauge(
      "headrace_client_stall_fraction",
      "Of the time of a job's trainers since they came, the part that they waited",
      {{"job", job.name}});
  return series;
}

void DispatcherMetrics::UpdateLoads(const dispatch::Job& job, const dispatch::Telemetry& telemetry,
                                    JobSeries& series) {
  std::map<ClientId, v1::ClientLoad> loads;
  double wait = 0;
  double step = 0;
  for (const ClientId client : job.clients) {
    const auto found = telemetry.loads.find(client);
    if (found == telemetry.loads.end()) continue;
    const v1::ClientLoad& now = found->second;
    const v1::ClientLoad& before = series.loads[client];
    series.wait->Add(absl::Seconds(std::max(0.0, now.wait_seconds() - before.wait_seconds())));
    series.step->Add(absl::Seconds(std::max(0.0, now.step_seconds() - before.step_seconds())));
    wait += now.wait_seconds();
    step += now.step_seconds();
    loads[client] = now;
  }
  series.loads = std::move(loads);
  series.stalled->Set(wait + step > 0 ? wait / (wait + step) : 0);
}

void DispatcherMetrics::UpdateJob(const dispatch::Job& job, const dispatch::Telemetry& telemetry) {
  JobSeries& series = SeriesOf(job);
  if (series.job != job.id) {
    series.job = job.id;
    series.shown = {};
  }
  dispatch::EpochCounts counts = job.past;
  uint64_t pending = 0;
  uint64_t leased = 0;
  if (job.epoch.has_value()) {
    counts.delivered += job.epoch->counts().delivered;
    counts.settled += job.epoch->counts().settled;
    counts.failed += job.epoch->counts().failed;
    counts.skipped += job.epoch->counts().skipped;
    counts.restored += job.epoch->counts().restored;
    counts.pieces += job.epoch->counts().pieces;
    pending = job.epoch->pending();
    leased = job.epoch->leases().size();
  }
  // What a checkpoint brought was delivered in an earlier life.
  Raise(*series.delivered, series.shown.delivered, counts.delivered - counts.restored);
  Raise(*series.settled, series.shown.settled, counts.settled);
  Raise(*series.failed, series.shown.failed, counts.failed);
  Raise(*series.skipped, series.shown.skipped, counts.skipped);
  Raise(*series.pieces, series.shown.pieces, counts.pieces);
  series.pending->Set(static_cast<double>(pending));
  series.leased->Set(static_cast<double>(leased));
  series.clients->Set(static_cast<double>(job.clients.size()));
  UpdateLoads(job, telemetry, series);
  series.epoch->Set(job.next_epoch == 0 ? 0 : static_cast<double>(job.next_epoch - 1));
}

void DispatcherMetrics::Update(const dispatch::State& state, const dispatch::Telemetry& telemetry,
                               const dispatch::Holdings& holdings) {
  Raise(*leased_here_, shown_.here, holdings.counts.here);
  Raise(*leased_cold_, shown_.cold, holdings.counts.cold);
  Raise(*leased_elsewhere_, shown_.elsewhere, holdings.counts.elsewhere);
  Raise(*held_back_, shown_.held_back, holdings.counts.held_back);
  size_t open = 0;
  size_t fenced = 0;
  size_t waiting = 0;
  std::set<std::string> running;
  for (const auto& [id, job] : state.jobs().all()) {
    if (job.ended) continue;
    running.insert(job.name);
    UpdateJob(job, telemetry);
    if (!job.epoch.has_value()) continue;
    waiting += job.epoch->fences().size();
    for (const auto& [task_id, task] : job.epoch->tasks()) {
      (task.fenced ? fenced : open) += task.leases.size();
    }
  }
  for (auto it = by_job_.begin(); it != by_job_.end();) {
    if (running.contains(it->first)) {
      ++it;
      continue;
    }
    metrics_.Remove("job", it->first);
    it = by_job_.erase(it);
  }
  size_t ready = 0;
  size_t draining = 0;
  for (const auto& [id, worker] : state.workers().all()) {
    ready += worker.state == dispatch::WorkerState::kReady;
    draining += worker.state == dispatch::WorkerState::kDraining;
  }
  jobs_->Set(static_cast<double>(running.size()));
  clients_->Set(static_cast<double>(state.clients().all().size()));
  workers_ready_->Set(static_cast<double>(ready));
  workers_draining_->Set(static_cast<double>(draining));
  leases_open_->Set(static_cast<double>(open));
  leases_fenced_->Set(static_cast<double>(fenced));
  fences_waiting_->Set(static_cast<double>(waiting));
}

void DispatcherMetrics::SetLeads(bool leads) {
  if (leads && !leads_) terms_->Add();
  leads_ = leads;
  leader_->Set(leads ? 1 : 0);
}

void DispatcherMetrics::ObserveCall(std::string_view method, absl::Duration took,
                                    absl::StatusCode code) {
  absl::MutexLock lock(&mutex_);
  auto it = latency_.find(method);
  if (it == latency_.end()) {
    it = latency_
             .emplace(method, metrics_.AddHistogram("headrace_dispatcher_rpc_seconds",
                                                    "Time that a call took", LatencyBuckets(),
                                                    {{"method", std::string(method)}}))
             .first;
  }
  it->second->Observe(took);
  if (code == absl::StatusCode::kOk) return;
  auto error = errors_.find(method);
  if (error == errors_.end()) {
    error = errors_
                .emplace(method, metrics_.AddCounter("headrace_dispatcher_rpc_errors_total",
                                                     "Calls that were answered with an error",
                                                     {{"method", std::string(method)}}))
                .first;
  }
  error->second->Add();
}

}  // namespace headrace
