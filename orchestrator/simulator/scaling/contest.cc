#include "orchestrator/simulator/scaling/contest.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <utility>

namespace headrace::orchestrate {
namespace {

constexpr double kNear = 1.05;
constexpr double kStays = 60;  // seconds
constexpr double kPlotSeconds = 10;
constexpr double kJitter = 0.002;  // of the time, that trainers wait though there is enough

// Cuts windows for one policy, and asks it.
class Watch {
 public:
  Watch(const Contestant& contestant, const ScalingTrace& trace, size_t group,
        std::vector<size_t> jobs)
      : contestant_(contestant),
        trace_(trace),
        group_(group),
        jobs_(std::move(jobs)),
        sums_(trace.jobs.size()),
        policy_(contestant.make(trace)),
        rng_(trace.seed * 1000003 + group * 7919 + contestant.name.size()),
        drop_(contestant.windows.drop_first) {}

  // After each second.
  void Look(SimulatedFleet& fleet);
  size_t windows() const { return windows_; }
  int direction() const { return direction_; }  // of the last change: +1, -1
  size_t changes() const { return changes_; }

 private:
  struct Sum {
    double taken = 0;
    double demand = 0;
    double busy = 0;
    double stall = 0;
    double fill = 0;
    double seconds = 0;
  };
  double Noise() { return std::exp(trace_.noise * normal_(rng_)); }
  void Restart();
  Observation Observe(const SimulatedFleet& fleet);
  void Carry(const Decision& decision, SimulatedFleet& fleet);

  const Contestant& contestant_;
  const ScalingTrace& trace_;
  const size_t group_;
  const std::vector<size_t> jobs_;
  std::vector<Sum> sums_;
  std::unique_ptr<Policy> policy_;
  std::mt19937_64 rng_;
  std::normal_distribution<double> normal_{0, 1};
  double drop_;
  double seconds_ = 0;
  double batches_ = 0;
  size_t lost_ = 0;
  bool up_ = true;
  size_t windows_ = 0;
  int direction_ = 0;
  size_t changes_ = 0;
};

void Watch::Restart() {
  std::fill(sums_.begin(), sums_.end(), Sum());
  seconds_ = batches_ = 0;
  lost_ = 0;
}

void Watch::Look(SimulatedFleet& fleet) {
  const Windows& cut = contestant_.windows;
  const bool up = fleet.ready(group_) == fleet.wanted(group_);
  if (up && !std::exchange(up_, up) && cut.anew_when_up) Restart();
  up_ = up;
  double taken = 0;
  for (size_t job : jobs_) taken += fleet.jobs()[job].taken;
  if (drop_ > 0) {
    drop_ -= taken;
    return;
  }
  lost_ += fleet.lost();
  seconds_ += 1;
  batches_ += taken;
  for (size_t job : jobs_) {
    const JobSecond& second = fleet.jobs()[job];
    if (!second.runs) continue;
    Sum& sum = sums_[job];
    sum.taken += second.taken;
    sum.demand += second.demand;
    sum.busy += second.busy_workers;
    sum.stall += second.stall;
    sum.fill = second.fill;
    sum.seconds += 1;
  }
  if (cut.seconds > 0 ? seconds_ < cut.seconds : batches_ < cut.batches) return;
  ++windows_;
  const Observation seen = Observe(fleet);
  Restart();
  const size_t before = fleet.wanted(group_);
  bool changed = false;
  for (const Decision& decision : policy_->Decide(seen)) {
    changed = changed || decision.action.verb == Verb::kSetWorkers;
    Carry(decision, fleet);
  }
  if (changed) drop_ = cut.drop_after_change;
  const size_t after = fleet.wanted(group_);
  if (after == before) return;
  up_ = fleet.ready(group_) == after;
  ++changes_;
  direction_ = after > before ? 1 : -1;
}

void Watch::Carry(const Decision& decision, SimulatedFleet& fleet) {
  const Action& action = decision.action;
  if (action.verb != Verb::kSetWorkers) return;
  const auto workers = static_cast<size_t>(std::max(action.amount, 0.0));
  if (action.where == "local") {
    fleet.SetLocal(jobs_.front(), workers);
  } else {
    fleet.SetWorkers(group_, workers);
  }
}

Observation Watch::Observe(const SimulatedFleet& fleet) {
  Observation seen;
  seen.at_seconds = fleet.now();
  seen.window_seconds = std::max(seconds_, 1.0);
  seen.workers_wanted = fleet.wanted(group_);
  seen.workers_lost = lost_;
  double busy = 0;
  for (size_t job : jobs_) {
    const Sum& sum = sums_[job];
    if (!fleet.jobs()[job].runs || sum.seconds == 0) continue;
    JobObservation one;
    one.job = job + 1;
    one.name = trace_.jobs[job].name;
    one.clients = 1;
    one.elements_per_second = sum.taken / sum.seconds * Noise();
    if (sum.taken > 0) one.demand = sum.demand / sum.seconds * Noise();
    const double step = sum.seconds - sum.stall;
    const double wait = sum.stall * Noise() + kJitter * sum.seconds * std::abs(normal_(rng_));
    one.stall = wait / (wait + step);
    one.prepare_stall = *one.stall;
    one.queue_fill = std::min(1.0, sum.fill * Noise());
    one.busy_seconds = sum.busy * seconds_ / sum.seconds;
    busy += sum.busy;
    seen.jobs.push_back(std::move(one));
  }
  const size_t ready = fleet.ready(group_);
  for (size_t i = 0; i < ready; ++i) {
    WorkerObservation worker;
    worker.worker = i + 1;
    worker.cores = 1;
    worker.busy = std::min(1.0, busy / seen.window_seconds / static_cast<double>(ready) * Noise());
    seen.workers.push_back(std::move(worker));
  }
  return seen;
}

// Follows how near the fleet is to the cheapest, segment by segment.
class Nearness {
 public:
  Nearness(const ScalingTrace& trace, Score& score) : changes_(trace.Changes()), score_(score) {}

  void Look(double now, double windows, bool near, bool last) {
    if (next_ < changes_.size() && now >= changes_[next_]) {
      Close();
      ++next_;
      open_ = true;
      reached_ = false;
      begun_ = now;
      windows_at_begin_ = windows;
      near_since_.reset();
    }
    now_ = now;
    windows_ = windows;
    if (open_ && !reached_) {
      if (!near) near_since_.reset();
      if (near && !near_since_.has_value()) near_since_ = {now, windows};
      if (near && now - near_since_->first >= kStays) Reach();
    }
    if (last) Close();
  }

 private:
  void Reach() {
    reached_ = true;
    ++score_.reached;
    score_.seconds_to_cheapest += near_since_->first - begun_;
    score_.windows_to_cheapest += near_since_->second - windows_at_begin_;
  }
  void Close() {
    if (!open_) return;
    ++score_.segments;
    if (!reached_ && near_since_.has_value()) Reach();
    if (!reached_) {
      score_.seconds_to_cheapest += now_ - begun_;
      score_.windows_to_cheapest += windows_ - windows_at_begin_;
    }
    open_ = false;
  }

  const std::vector<double> changes_;
  Score& score_;
  size_t next_ = 0;
  bool open_ = false;
  bool reached_ = false;
  double begun_ = 0;
  double windows_at_begin_ = 0;
  double now_ = 0;
  double windows_ = 0;
  std::optional<std::pair<double, double>> near_since_;
};

// Per job: its rule begins and ends with it.
void BeginAndEnd(const Contestant& contestant, const ScalingTrace& trace, SimulatedFleet& fleet,
                 std::vector<std::unique_ptr<Watch>>& watches) {
  if (contestant.layout == SimulatedFleet::Layout::kShared) {
    if (watches[0] != nullptr) return;
    std::vector<size_t> all;
    for (size_t job = 0; job < trace.jobs.size(); ++job) all.push_back(job);
    watches[0] = std::make_unique<Watch>(contestant, trace, 0, std::move(all));
    return;
  }
  for (size_t job = 0; job < trace.jobs.size(); ++job) {
    const bool runs = trace.JobAt(job, fleet.now()).demand > 0;
    if (runs && watches[job] == nullptr) {
      if (fleet.wanted(job) == 0) fleet.SetWorkers(job, 1);
      watches[job] = std::make_unique<Watch>(contestant, trace, job, std::vector<size_t>{job});
    } else if (!runs && fleet.wanted(job) > 0) {
      fleet.SetWorkers(job, 0);
    }
  }
}

}  // namespace

Score Compete(const Contestant& contestant, const ScalingTrace& trace) {
  SimulatedFleet fleet(trace, contestant.layout);
  std::vector<std::unique_ptr<Watch>> watches(fleet.groups());
  Score score;
  Nearness nearness(trace, score);
  std::vector<std::pair<size_t, int>> changes(fleet.groups());  // seen so far
  const std::vector<double> segments = trace.Changes();
  while (fleet.now() < trace.seconds) {
    const double now = fleet.now();
    BeginAndEnd(contestant, trace, fleet, watches);
    double windows = 0;
    double watching = 0;
    for (size_t i = 0; i < watches.size(); ++i) {
      if (watches[i] == nullptr) continue;
      windows += static_cast<double>(watches[i]->windows());
      watching += 1;
      if (std::ranges::binary_search(segments, now)) changes[i].second = 0;
      if (watches[i]->changes() == changes[i].first) continue;
      const int direction = watches[i]->direction();
      score.reversals += changes[i].second == -direction;
      changes[i] = {watches[i]->changes(), direction};
    }
    const bool near = fleet.Cost() <= kNear * fleet.LeastCost();
    nearness.Look(now, watching > 0 ? windows / watching : 0, near, now + 1 >= trace.seconds);
    const double cheapest = static_cast<double>(fleet.CheapestWorkers());
    const double paid = static_cast<double>(fleet.paid());
    score.worker_seconds_wasted += std::max(0.0, paid - cheapest);
    if (std::fmod(now, kPlotSeconds) == 0) {
      score.at.push_back(now);
      score.workers.push_back(paid);
      score.cheapest.push_back(cheapest);
    }
    fleet.Step();
    for (const JobSecond& second : fleet.jobs()) score.stall_seconds += second.stall;
    for (auto& watch : watches) {
      if (watch != nullptr) watch->Look(fleet);
    }
  }
  return score;
}

}  // namespace headrace::orchestrate
