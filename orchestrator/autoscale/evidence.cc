#include "orchestrator/autoscale/evidence.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace headrace::orchestrate {
namespace {

constexpr size_t kRecent = 3;            // windows
constexpr size_t kForgottenAfter = 500;  // windows without the job
constexpr double kStarved = 0.05;        // of the time waited: workers are what it waits for
constexpr double kLeastBusy = 0.02;      // of one worker: below, a rate is noise
// A growth by less than this tells nothing about a shared limit.
constexpr double kTellingGrowth = 1.25;
constexpr double kLargeGrowth = 2;     // one window tells enough
constexpr size_t kMostPatience = 480;  // windows

void Push(std::deque<double>& values, double value) {
  values.push_back(value);
  if (values.size() > kRecent) values.pop_front();
}

// Mean over ready workers that were up for the whole window.
std::optional<double> BusyOf(const Observation& observation) {
  double sum = 0;
  double n = 0;
  for (const WorkerObservation& worker : observation.workers) {
    if (worker.condition != WorkerCondition::kReady || !worker.busy.has_value()) continue;
    sum += *worker.busy;
    n += 1;
  }
  if (n == 0) return std::nullopt;
  return sum / n;
}

double CoresOf(const Observation& observation) {
  double sum = 0;
  double n = 0;
  for (const WorkerObservation& worker : observation.workers) {
    if (worker.condition != WorkerCondition::kReady || !(worker.cores > 0)) continue;
    sum += worker.cores;
    n += 1;
  }
  return n == 0 ? 1 : sum / n;
}

}  // namespace

double RecentMedian(const std::deque<double>& values) { return Median(values); }

void Evidence::Learn(const Observation& observation, bool settled) {
  for (auto& [name, evidence] : jobs) ++evidence.absent;
  std::erase_if(jobs, [](const auto& entry) { return entry.second.absent > kForgottenAfter; });
  double worst = 0;
  bool limited = false;
  for (const JobObservation& job : observation.jobs) {
    if (job.clients == 0) continue;
    LearnJob(observation, job, settled);
    worst = std::max(worst, job.stall.value_or(0));
    limited = limited || jobs[job.name].ceiling > 0;
  }
  if (!settled) return;
  if (const std::optional<double> busy_now = BusyOf(observation)) {
    Push(busy, *busy_now);
    if (worst > kStarved && !limited) usable.Add(std::min(1.0, *busy_now));
  }
  LookForCeilings(observation);
}

void Evidence::LearnJob(const Observation& observation, const JobObservation& job, bool settled) {
  JobEvidence& evidence = jobs[job.name];
  evidence.absent = 0;
  evidence.changed = false;
  if (job.demand.has_value()) evidence.changed = evidence.demand.Add(*job.demand);
  const double cores = CoresOf(observation);
  const double made = job.elements_per_second * observation.window_seconds;
  evidence.now_need = 0;
  if (job.busy_seconds > kLeastBusy * cores * observation.window_seconds && made > 0) {
    const double rate = made / job.busy_seconds * cores;
    if (evidence.busy_rate.Add(rate)) evidence.changed = true;
    const double limit = usable.known() ? std::min(1.0, usable.value()) : 1;
    if (job.demand.has_value()) evidence.now_need = *job.demand / (rate * limit);
  }
  if (evidence.ceiling > 0 && --evidence.ceiling_windows == 0) evidence.ceiling = 0;
  if (!settled) return;
  if (job.stall.has_value()) Push(evidence.stalls, *job.stall);
  Push(evidence.fills, job.queue_fill);
  Push(evidence.rates, job.elements_per_second);
}

// Workers were added, and what the job is handed did not grow, and workers have more time to spare:
// something else limits it, and all of them share that.
void Evidence::LookForCeilings(const Observation& observation) {
  const double grown =
      growth.from == 0 ? 0 : static_cast<double>(growth.to) / static_cast<double>(growth.from);
  const size_t enough = grown >= kLargeGrowth ? 1 : 2;
  if (grown < kTellingGrowth || busy.size() < enough) return;
  for (const JobObservation& job : observation.jobs) {
    const auto before = growth.rates.find(job.name);
    JobEvidence& evidence = jobs[job.name];
    if (job.clients == 0 || before == growth.rates.end() || before->second <= 0) continue;
    if (evidence.stalls.size() < enough || RecentMedian(evidence.stalls) < kStarved) continue;
    const double rate = RecentMedian(evidence.rates);
    const bool no_faster = rate < before->second * (1 + 0.5 * (grown - 1));
    const bool idler = RecentMedian(busy) < growth.busy * (1 - 0.5 * (1 - 1 / grown));
    if (!no_faster || !idler) continue;
    evidence.ceiling = std::max(rate, before->second);
    evidence.ceiling_windows = evidence.ceiling_patience;
    evidence.ceiling_patience = std::min(2 * evidence.ceiling_patience, kMostPatience);
    evidence.had_ceiling = true;
    usable = growth.usable;  // what came after was the limit's doing
    growth = {};
    return;
  }
}

void Evidence::FleetChanges(const Observation& observation, size_t to) {
  const size_t from = observation.workers_wanted;
  growth = {};
  if (to > from && from > 0 && !busy.empty()) {
    growth.from = from;
    growth.to = to;
    growth.busy = RecentMedian(busy);
    growth.usable = usable;
    for (const auto& [name, evidence] : jobs) {
      if (!evidence.rates.empty()) growth.rates[name] = RecentMedian(evidence.rates);
    }
  }
  busy.clear();
  for (auto& [name, evidence] : jobs) {
    evidence.stalls.clear();
    evidence.fills.clear();
    evidence.rates.clear();
  }
}

JobLoad Evidence::LoadOf(const JobObservation& job) const {
  JobLoad load;
  load.trainers = static_cast<double>(job.clients);
  load.claim.weight = job.weight;
  load.claim.priority = job.priority;
  load.claim.least = job.min_workers;
  load.claim.most = job.max_workers;
  const auto it = jobs.find(job.name);
  if (it == jobs.end()) return load;
  load.demand = it->second.demand.value();
  load.worker_rate =
      it->second.busy_rate.value() * (usable.known() ? std::min(1.0, usable.value()) : 1);
  load.ceiling = it->second.ceiling;
  return load;
}

double Evidence::NeedError(const Observation& observation) const {
  double squares = 0;
  double needs = 0;
  for (const JobObservation& job : observation.jobs) {
    const auto it = jobs.find(job.name);
    if (job.clients == 0 || it == jobs.end()) continue;
    const double need = LoadOf(job).Need();
    const double error = std::hypot(it->second.demand.error(), it->second.busy_rate.error());
    squares += need * need * error * error;
    needs += need;
  }
  return needs > 0 ? std::sqrt(squares) / needs : 0;
}

}  // namespace headrace::orchestrate
