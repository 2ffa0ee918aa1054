#include "orchestrator/simulator/scaling/simulated_fleet.h"

#include <algorithm>
#include <cmath>

namespace headrace::orchestrate {
namespace {

constexpr double kQueueSeconds = 2;  // of demand, that the trainers' prefetch holds
constexpr double kCrowded = 0.12;    // slower steps for each local worker beyond the spare cores

}  // namespace

SimulatedFleet::SimulatedFleet(const ScalingTrace& trace, Layout layout)
    : trace_(trace),
      layout_(layout),
      groups_(layout == Layout::kShared ? 1 : trace.jobs.size()),
      local_(trace.jobs.size()),
      queues_(trace.jobs.size()),
      seconds_(trace.jobs.size()) {
  for (size_t job = 1; job < trace.jobs.size() && layout == Layout::kPerJob; ++job) {
    if (trace.jobs[job].begins > 0) groups_[job] = {.wanted = 0, .ready = 0};
  }
}

void SimulatedFleet::SetWorkers(size_t group, size_t workers) {
  Group& g = groups_[group];
  g.wanted = std::min(workers, trace_.most_workers);
  // Those that start are taken back first.
  while (g.ready + g.starting.size() > g.wanted && !g.starting.empty()) g.starting.pop_back();
  g.replacing = std::min(g.replacing, g.starting.size());
  g.ready = std::min(g.ready, g.wanted);
  while (g.ready + g.starting.size() < g.wanted)
    g.starting.push_back(now_ + trace_.worker_start_seconds);
}

void SimulatedFleet::Preempt() {
  lost_ = 0;
  while (next_preemption_ < trace_.preemptions.size() &&
         trace_.preemptions[next_preemption_].at <= now_) {
    size_t all = 0;
    for (const Group& g : groups_) all += g.ready;
    auto at = static_cast<size_t>(trace_.preemptions[next_preemption_++].which *
                                  static_cast<double>(all));
    for (Group& g : groups_) {
      if (at >= g.ready) {
        at -= g.ready;
        continue;
      }
      --g.ready;
      g.starting.insert(g.starting.begin(), now_ + trace_.worker_start_seconds);
      ++g.replacing;
      ++lost_;
      break;
    }
  }
}

void SimulatedFleet::Step() {
  Preempt();
  for (Group& g : groups_) {
    const size_t before = g.starting.size();
    std::erase_if(g.starting, [&](double up) { return up <= now_; });
    const size_t up = before - g.starting.size();
    g.ready += up;
    g.replacing -= std::min(g.replacing, up);
  }
  for (size_t group = 0; group < groups_.size(); ++group) RunGroup(group);
  now_ += 1;
}

void SimulatedFleet::RunGroup(size_t group) {
  std::vector<size_t> jobs;
  std::vector<Claim> claims;
  for (size_t job = 0; job < trace_.jobs.size(); ++job) {
    if (GroupOf(job) != group) continue;
    JobSecond& second = seconds_[job];
    second = {};
    TraceJob now = trace_.JobAt(job, now_);
    if (now.demand == 0) {
      queues_[job] = 0;
      continue;
    }
    if (local_[job] > trace_.spare_local) {
      now.demand /= 1 + kCrowded * static_cast<double>(local_[job] - trace_.spare_local);
    }
    second.runs = true;
    second.demand = now.demand;
    const double room = std::max(0.0, kQueueSeconds * now.demand - queues_[job]);
    jobs.push_back(job);
    claims.push_back({.need = (now.demand + room) / now.worker_rate});
  }
  const std::vector<double> shares = FairShares(claims, static_cast<double>(groups_[group].ready));
  for (size_t i = 0; i < jobs.size(); ++i) {
    const TraceJob now = trace_.JobAt(jobs[i], now_);
    JobSecond& second = seconds_[jobs[i]];
    double& queue = queues_[jobs[i]];
    const double capacity = kQueueSeconds * second.demand;
    const double could = shares[i] + static_cast<double>(local_[jobs[i]]);
    const double made =
        std::min(could * now.worker_rate, second.demand + std::max(0.0, capacity - queue));
    second.taken = std::min(second.demand, queue + made);
    queue = std::clamp(queue + made - second.taken, 0.0, capacity);
    second.fill = queue / capacity;
    second.stall = 1 - second.taken / second.demand;
    second.busy_workers = std::min(made / now.worker_rate, shares[i]) * now.full_busy;
  }
}

size_t SimulatedFleet::paid() const {
  size_t n = 0;
  for (const Group& g : groups_) n += g.ready + g.starting.size();
  return n;
}

Fleet SimulatedFleet::FleetOf(size_t group) const {
  Fleet fleet;
  fleet.prices = trace_.prices;
  fleet.most = trace_.most_workers;
  for (size_t job = 0; job < trace_.jobs.size(); ++job) {
    const TraceJob now = trace_.JobAt(job, now_);
    if (GroupOf(job) != group || now.demand == 0) continue;
    fleet.jobs.push_back({.demand = now.demand, .worker_rate = now.worker_rate});
  }
  return fleet;
}

double SimulatedFleet::Cost() const {
  double sum = 0;
  for (size_t group = 0; group < groups_.size(); ++group) {
    const Group& g = groups_[group];
    sum += orchestrate::Cost(FleetOf(group), static_cast<double>(g.ready + g.replacing));
  }
  return sum;
}

double SimulatedFleet::LeastCost() const {
  double sum = 0;
  for (size_t group = 0; group < groups_.size(); ++group) {
    const Fleet fleet = FleetOf(group);
    sum += orchestrate::Cost(fleet, static_cast<double>(CheapestFleet(fleet)));
  }
  return sum;
}

size_t SimulatedFleet::CheapestWorkers() const {
  size_t sum = 0;
  for (size_t group = 0; group < groups_.size(); ++group) sum += CheapestFleet(FleetOf(group));
  return sum;
}

}  // namespace headrace::orchestrate
