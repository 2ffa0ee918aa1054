// Cachew (Graur et al., "Cachew: Machine Learning Input Data Processing as a Service", USENIX ATC
// 2022) and its source, eth-easl/cachew, auto_scaler: the caller gives windows of 500 batches,
// without the first 200 of an epoch and the first 150 after a change.
#include <cmath>

#include "orchestrator/simulator/scaling/rules.h"

namespace headrace::orchestrate {
namespace {

constexpr double kBetter = 0.07;  // less batch time, to keep going up
constexpr double kWorse = -0.03;  // more batch time, to stop going down
constexpr double kOutlier = 1.2;
constexpr size_t kReportsBetweenLooks = 20;
constexpr double kGrowth = 1.5;  // of queue or batch time, to look again

struct CachewState {
  enum class Phase { kFirst, kUp, kDown, kSettled } phase = Phase::kFirst;
  double last_time = 0;
  bool has_base = false;  // of the settled fleet
  double base_time = 0;
  double base_queue = 0;
  size_t reports = 0;
  double time_sum = 0;
  double queue_sum = 0;
};

Decision Set(const Observation& seen, double change, const char* why) {
  return {"cachew",
          {.verb = Verb::kSetWorkers, .amount = static_cast<double>(seen.workers_wanted) + change},
          why,
          {}};
}

Decision Hold(const char* why) { return {"cachew", {}, why, {}}; }

Decision Settle(CachewState& state, const Observation& seen, double change) {
  state.phase = CachewState::Phase::kSettled;
  state.has_base = false;
  state.reports = 0;
  state.time_sum = state.queue_sum = 0;
  return change == 0 ? Hold("settled") : Set(seen, change, "it did not pay: back, and settled");
}

Decision LookAgain(const RuleOptions& options, CachewState& state, const Observation& seen,
                   double time, double queue) {
  if (!state.has_base) {
    state.has_base = true;
    state.base_time = time;
    state.base_queue = queue;
    return Hold("settled");
  }
  state.time_sum += time;
  state.queue_sum += queue;
  if (++state.reports < kReportsBetweenLooks) return Hold("settled");
  const double mean_time = state.time_sum / static_cast<double>(state.reports);
  const double mean_queue = state.queue_sum / static_cast<double>(state.reports);
  state.reports = 0;
  state.time_sum = state.queue_sum = 0;
  if (state.base_queue == 0) return Hold("settled");  // its ratio to zero is never looked at
  state.last_time = mean_time;
  if (mean_queue > kGrowth * state.base_queue && seen.workers_wanted > 1) {
    state.phase = CachewState::Phase::kDown;
    return Set(seen, -1, "the queue has grown");
  }
  if (mean_time > kGrowth * state.base_time && seen.workers_wanted < options.most_workers) {
    state.phase = CachewState::Phase::kUp;
    return Set(seen, +1, "batches take longer");
  }
  return Hold("settled");
}

std::vector<Decision> DecideCachew(const RuleOptions& options, const Observation& seen,
                                   CachewState& state) {
  if (seen.jobs.empty() || !(seen.jobs[0].elements_per_second > 0)) return {Hold("no batches")};
  const double time = 1 / seen.jobs[0].elements_per_second;
  const double relative = state.last_time > 0 ? 1 - time / state.last_time : 0;
  switch (state.phase) {
    case CachewState::Phase::kFirst:
      state.last_time = time;
      state.phase = CachewState::Phase::kUp;
      return {Set(seen, +1, "first window")};
    case CachewState::Phase::kUp:
      if (std::abs(relative) > kOutlier) return {Hold("outlier")};
      if (relative <= kBetter) return {Settle(state, seen, -1)};
      if (seen.workers_wanted >= options.most_workers) return {Settle(state, seen, 0)};
      state.last_time = time;
      return {Set(seen, +1, "it paid")};
    case CachewState::Phase::kDown:
      if (std::abs(relative) > kOutlier) return {Hold("outlier")};
      if (relative <= kWorse) return {Settle(state, seen, +1)};
      if (seen.workers_wanted <= 1) return {Settle(state, seen, 0)};
      state.last_time = time;
      return {Set(seen, -1, "it cost nothing")};
    case CachewState::Phase::kSettled:
      break;
  }
  return {LookAgain(options, state, seen, time, seen.jobs[0].queue_fill)};
}

}  // namespace

std::unique_ptr<Policy> MakeCachewRule(const RuleOptions& options) {
  return MakePolicy<RuleOptions, CachewState>("cachew", options, DecideCachew);
}

}  // namespace headrace::orchestrate
