// The algorithm of kubernetes.io's "Horizontal Pod Autoscaling": wish = ceil(pods * use / target),
// with pods that are not up yet counted as idle when it would go up.
#include <algorithm>
#include <cmath>
#include <deque>

#include "orchestrator/simulator/scaling/rules.h"

namespace headrace::orchestrate {
namespace {

constexpr double kTarget = 0.8;
constexpr double kTolerance = 0.1;
constexpr double kDownSeconds = 300;

struct HpaState {
  std::deque<std::pair<double, double>> wishes;  // when, how many
};

std::vector<Decision> DecideHpa(const RuleOptions& options, const Observation& seen,
                                HpaState& state) {
  double use = 0;
  double pods = 0;
  for (const WorkerObservation& worker : seen.workers) {
    if (worker.condition != WorkerCondition::kReady || !worker.busy.has_value()) continue;
    use += *worker.busy;
    pods += 1;
  }
  if (pods == 0) return {{"hpa", {}, "no pod is up", {}}};
  const auto now = static_cast<double>(seen.workers_wanted);
  double ratio = use / pods / kTarget;
  if (ratio > 1 && pods < now) ratio = std::max(1.0, use / now / kTarget);
  double wish = std::abs(ratio - 1) <= kTolerance ? now : std::ceil(ratio * std::max(pods, now));
  wish = std::clamp(wish, 1.0, static_cast<double>(options.most_workers));
  wish = std::min(wish, std::max(2 * now, now + 4));
  state.wishes.emplace_back(seen.at_seconds, wish);
  while (state.wishes.front().first < seen.at_seconds - kDownSeconds) state.wishes.pop_front();
  if (wish < now) {
    for (const auto& [at, before] : state.wishes) wish = std::max(wish, before);
    wish = std::min(wish, now);
  }
  if (wish == now) return {{"hpa", {}, "within its tolerance", {}}};
  return {{"hpa", {.verb = Verb::kSetWorkers, .amount = wish}, "use is off its target", {}}};
}

}  // namespace

std::unique_ptr<Policy> MakeCpuHpa(const RuleOptions& options) {
  return MakePolicy<RuleOptions, HpaState>("hpa", options, DecideHpa);
}

}  // namespace headrace::orchestrate
