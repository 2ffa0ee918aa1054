#include "orchestrator/observation/collector.h"

#include <algorithm>
#include <utility>

namespace headrace::orchestrate {
namespace {

constexpr double kHungry = 0.1;  // of the prefetch, below which a trainer has next to nothing

// A count that went back is of something that began anew.
double Since(double now, double before) { return now >= before ? now - before : now; }
double Since(uint64_t now, uint64_t before) {
  return static_cast<double>(now >= before ? now - before : now);
}

// A trainer's own, on its spare cores: neither started nor ended by us, and no use to other jobs.
// What it makes shows as waiting that is not there.
bool KeptForAJob(const v1::FleetWorker& worker) {
  return std::ranges::any_of(worker.tags(),
                             [](const std::string& tag) { return tag.starts_with("job="); });
}

bool WaitsToBeSent(const v1::ObserveFleetReply& totals, uint64_t job) {
  for (const v1::FleetWorker& worker : totals.workers()) {
    for (const v1::JobWork& work : worker.load().jobs()) {
      if (work.job() == job && work.output_bytes() > 0) return true;
    }
  }
  return false;
}

double MeanFill(const v1::FleetJob& job) {
  double sum = 0;
  double n = 0;
  for (const v1::FleetClient& client : job.clients()) {
    if (!client.reads()) continue;
    sum += client.queue_fill();
    n += 1;
  }
  return n == 0 ? 0 : sum / n;
}

}  // namespace

void Collector::Begin(const v1::ObserveFleetReply& totals) {
  if (begun_.has_value() && begun_->cluster != totals.cluster()) newest_task_ = 0;
  looks_ = 0;
  begun_.emplace();
  begun_->cluster = totals.cluster();
  begun_->at_seconds = totals.at_seconds();
  begun_->workers_lost = totals.workers_lost();
  fills_.clear();
  Look(totals);
  for (const auto& [id, worker] : begun_->workers) begun_->whole[id] = true;
}

double Collector::Seconds(const v1::ObserveFleetReply& totals) const {
  if (!begun_.has_value() || begun_->cluster != totals.cluster()) return 0;
  return std::max(0.0, totals.at_seconds() - begun_->at_seconds);
}

void Collector::Look(const v1::ObserveFleetReply& totals) {
  if (!begun_.has_value() || begun_->cluster != totals.cluster()) return;
  for (const v1::FleetWorker& worker : totals.workers()) {
    if (worker.has_load()) begun_->workers.try_emplace(worker.worker(), worker);
  }
  uint64_t newest = newest_task_;
  for (const v1::FleetJob& job : totals.jobs()) {
    for (const v1::FleetClient& client : job.clients()) {
      if (client.measured()) begun_->clients.try_emplace(client.client(), client);
    }
    for (const v1::FleetTask& task : job.tasks()) LookAt(task, job.job());
    begun_->records.try_emplace(job.job(), job.epoch(), job.records_done());
    for (const v1::FleetTask& task : job.tasks()) newest = std::max(newest, task.task());
    if (!job.running()) continue;
    Fill& fill = fills_[job.job()];
    const double now = MeanFill(job);
    fill.sum += now;
    fill.looks += 1;
    if (now > kHungry) continue;
    fill.hungry += 1;
    if (WaitsToBeSent(totals, job.job())) fill.on_the_way += 1;
  }
  newest_task_ = newest;
  ++looks_;
}

void Collector::LookAt(const v1::FleetTask& task, uint64_t job) {
  if (!begun_->tasks.contains(task.task())) {
    v1::FleetTask& first = begun_->tasks[task.task()] = task;
    // Tasks are numbered as they begin: one that is newer than all that were seen has done in this
    // window whatever it did, be it that an epoch's work is over before the first look at it.
    if (looks_ > 0 && task.task() > newest_task_) {
      for (v1::FleetStep& step : *first.mutable_steps()) {
        const std::string name = step.step();
        step.Clear();
        step.set_step(name);
      }
    }
  }
  begun_->last_tasks[job][task.task()] = task;
}

void Collector::AddSteps(const v1::FleetJob& now, JobObservation& job) const {
  const auto tasks = begun_->last_tasks.find(now.job());
  if (tasks == begun_->last_tasks.end()) return;
  for (const auto& [id, task] : tasks->second) {
    const auto before = begun_->tasks.find(id);
    if (before == begun_->tasks.end()) continue;
    for (int i = 0; i < std::min(task.steps_size(), before->second.steps_size()); ++i) {
      const v1::FleetStep& step = task.steps(i);
      const v1::FleetStep& then = before->second.steps(i);
      auto at = std::ranges::find(job.steps, step.step(), &StepObservation::step);
      if (at == job.steps.end()) at = job.steps.insert(at, {.step = step.step()});
      at->cpu_seconds += Since(step.cpu_seconds(), then.cpu_seconds());
      at->rows_in += Since(step.rows_in(), then.rows_in());
      at->rows_out += Since(step.rows_out(), then.rows_out());
      at->bytes_in += Since(step.bytes_in(), then.bytes_in());
      at->bytes_out += Since(step.bytes_out(), then.bytes_out());
      at->blocks += Since(step.blocks(), then.blocks());
      at->cpu_square += Since(step.cpu_square(), then.cpu_square());
      at->wall_seconds += Since(step.wall_seconds(), then.wall_seconds());
    }
  }
}

WorkerObservation Collector::ObserveWorker(const v1::FleetWorker& now) const {
  WorkerObservation worker;
  worker.worker = now.worker();
  worker.address = now.address();
  worker.host = now.host();
  worker.tags.assign(now.tags().begin(), now.tags().end());
  worker.condition =
      now.state() == "draining" ? WorkerCondition::kDraining : WorkerCondition::kReady;
  worker.cores = now.load().threads() != 0 ? now.load().threads() : now.cores();
  worker.readers = std::max(1u, now.load().readers());
  worker.tasks = now.tasks();
  const auto before = begun_->workers.find(now.worker());
  if (before == begun_->workers.end()) return worker;
  const v1::WorkerLoad& then = before->second.load();
  worker.cpu_seconds = Since(now.load().cpu_seconds(), then.cpu_seconds());
  // By its own clock: its beats are not as old as the dispatcher's answer.
  const double up = now.load().up_seconds() - then.up_seconds();
  if (begun_->whole.contains(now.worker()) && up > 0 && worker.cores > 0) {
    const double busy = now.load().busy_seconds() - then.busy_seconds();
    worker.busy = std::clamp(busy / (up * worker.cores), 0.0, 1.0);
  }
  return worker;
}

void Collector::AddWork(const v1::FleetWorker& now, std::vector<JobObservation>& jobs) const {
  const auto before = begun_->workers.find(now.worker());
  if (before == begun_->workers.end()) return;
  for (const v1::JobWork& work : now.load().jobs()) {
    const auto job = std::ranges::find(jobs, work.job(), &JobObservation::job);
    if (job == jobs.end()) continue;
    v1::JobWork then;  // it came after the first look at the worker
    for (const v1::JobWork& earlier : before->second.load().jobs()) {
      if (earlier.job() == work.job()) then = earlier;
    }
    job->busy_seconds += Since(work.busy_seconds(), then.busy_seconds());
    job->cpu_seconds += Since(work.cpu_seconds(), then.cpu_seconds());
  }
}

void Collector::AddTiers(const v1::FleetWorker& now, std::vector<TierObservation>& tiers) const {
  const auto before = begun_->workers.find(now.worker());
  for (const v1::TierLoad& tier : now.load().tiers()) {
    v1::TierLoad then = tier;  // nobody knows since when
    if (before != begun_->workers.end()) {
      for (const v1::TierLoad& earlier : before->second.load().tiers()) {
        if (earlier.tier() == tier.tier()) then = earlier;
      }
    }
    TierObservation& seen = tiers.emplace_back();
    seen.worker = now.worker();
    seen.tier = tier.tier();
    seen.capacity_bytes = static_cast<double>(tier.limit_bytes());
    seen.used_bytes = static_cast<double>(tier.used_bytes());
    seen.hits = Since(tier.hits(), then.hits());
    seen.read_bytes = Since(tier.read_bytes(), then.read_bytes());
    seen.read_seconds = Since(tier.read_seconds(), then.read_seconds());
    seen.fills = Since(tier.fills(), then.fills());
    seen.filled_bytes = Since(tier.filled_bytes(), then.filled_bytes());
    seen.fill_seconds = Since(tier.fill_seconds(), then.fill_seconds());
  }
}

double Collector::RecordsOf(const v1::FleetJob& now) const {
  const auto begun = begun_->records.find(now.job());
  if (begun == begun_->records.end()) return 0;
  const auto& [epoch, before] = begun->second;
  if (now.epoch() == epoch) return Since(now.records_done(), before);
  const double rest = now.epoch_records() > before && now.epoch() == epoch + 1
                          ? static_cast<double>(now.epoch_records() - before)
                          : 0;
  return rest + static_cast<double>(now.records_done());
}

JobObservation Collector::ObserveJob(const v1::FleetJob& now, double seconds) const {
  JobObservation job;
  job.job = now.job();
  job.name = now.name();
  job.weight = now.weight();
  job.priority = now.priority();
  job.min_workers = now.least_workers();
  job.max_workers = now.most_workers();
  job.waits_for_workers = now.waits_for_workers();
  job.connected = static_cast<size_t>(now.clients_size());
  if (now.splits() > 0) {
    job.epoch_progress =
        static_cast<double>(now.splits_retired()) / static_cast<double>(now.splits());
  }
  job.epoch = now.epoch();
  job.records = RecordsOf(now);
  job.records_done = static_cast<double>(now.records_done());
  job.epoch_records = static_cast<double>(now.epoch_records());
  job.epochs = now.epochs();
  if (now.cache() == v1::CACHING_AUTO) job.cache = CacheChoosing::kAuto;
  if (now.cache() == v1::CACHING_OFF) job.cache = CacheChoosing::kOff;
  if (now.has_placement()) {
    const v1::CachePlacement& told = now.placement();
    job.placement = {told.none(), told.before_step(), told.tier(),
                     told.share() > 0 ? told.share() : 1};
  }
  double elements = 0;
  double bytes = 0;
  double step = 0;
  double wait = 0;
  double demand = 0;
  for (const v1::FleetClient& client : now.clients()) {
    if (now.running() && client.reads()) ++job.clients;
    const auto before = begun_->clients.find(client.client());
    if (before == begun_->clients.end()) continue;
    const v1::FleetClient& then = before->second;
    const double taken = Since(client.elements(), then.elements());
    const double stepped = Since(client.step_seconds(), then.step_seconds());
    elements += taken;
    step += stepped;
    bytes += Since(client.bytes(), then.bytes());
    wait += Since(client.wait_seconds(), then.wait_seconds());
    if (taken > 0 && stepped > 0) demand += taken / stepped;
  }
  job.elements_per_second = elements / seconds;
  if (demand > 0) job.demand = demand;
  if (elements > 0) job.bytes_per_element = bytes / elements;
  if (step + wait > 0) job.stall = wait / (step + wait);
  job.prepare_stall = job.stall.value_or(0);
  const auto fill = fills_.find(now.job());
  if (fill != fills_.end() && fill->second.looks > 0)
    job.queue_fill = fill->second.sum / fill->second.looks;
  if (fill != fills_.end() && fill->second.hungry > 0) {
    job.fetch_stall = job.prepare_stall * fill->second.on_the_way / fill->second.hungry;
    job.prepare_stall -= job.fetch_stall;
  }
  AddSteps(now, job);
  return job;
}

Observation Collector::End(const v1::ObserveFleetReply& totals, size_t workers_wanted) {
  if (Seconds(totals) == 0) Begin(totals);  // of another life of the dispatcher: nothing is known
  Look(totals);
  const double seconds = std::max(Seconds(totals), 1e-3);
  Observation seen;
  seen.at_seconds = totals.at_seconds();
  seen.window_seconds = seconds;
  seen.workers_wanted = workers_wanted;
  // A dispatcher that was restarted counts anew.
  seen.workers_lost = totals.workers_lost() >= begun_->workers_lost
                          ? totals.workers_lost() - begun_->workers_lost
                          : totals.workers_lost();
  for (const v1::FleetJob& job : totals.jobs()) seen.jobs.push_back(ObserveJob(job, seconds));
  for (const v1::FleetWorker& worker : totals.workers()) {
    if (KeptForAJob(worker)) continue;
    seen.workers.push_back(ObserveWorker(worker));
    AddWork(worker, seen.jobs);
    AddTiers(worker, seen.tiers);
  }
  Begin(totals);
  return seen;
}

}  // namespace headrace::orchestrate
