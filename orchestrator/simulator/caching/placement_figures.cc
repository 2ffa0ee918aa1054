// Placement on 200 made-up clusters and the named cases, next to brute force and to Cachew's rule.
#include <algorithm>
#include <cmath>

#include "fmt/format.h"
#include "orchestrator/simulator/caching/placement_world.h"
#include "orchestrator/simulator/caching/policy_figure.h"
#include "orchestrator/simulator/caching/policy_series.h"
#include "orchestrator/statistics.h"

namespace headrace::orchestrate {
namespace {

struct Outcome {
  double chosen = 0, best = 0, cachew = 0, cachew_measured = 0, without = 0;
  PlacementDecision decision;
  TrueCosts::Best best_plan;
};

PlacementPlan PlanOf(const PlacementDecision& decision) {
  PlacementPlan plan;
  for (const JobPlacement& job : decision.jobs) plan.push_back(job.choice);
  return plan;
}

Outcome Try(const PlacementWorld& world, uint64_t seed, int share_steps) {
  const PlacementQuestion seen = Measure(world, seed);
  Outcome outcome;
  outcome.decision = DecidePlacement(seen);
  const TrueCosts truth(world, share_steps);
  outcome.chosen = truth.Cost(PlanOf(outcome.decision));
  outcome.best_plan = truth.BruteForce();
  // What was chosen lies between the steps of the grid at times, and is a plan too.
  outcome.best = std::min(outcome.best_plan.cost, outcome.chosen);
  outcome.cachew = truth.Cost(CachewPlan(world, seen));
  outcome.cachew_measured = truth.Cost(CachewPlanMeasured(world, seen));
  outcome.without = truth.Without();
  return outcome;
}

double Sum(const std::vector<Outcome>& outcomes, double Outcome::* cost) {
  double sum = 0;
  for (const Outcome& outcome : outcomes) sum += outcome.*cost;
  return sum;
}

// Of each world's best cost, so that a cheap world counts as much as a dear one.
double MeanOverBest(const std::vector<Outcome>& outcomes, double Outcome::* cost) {
  double sum = 0;
  for (const Outcome& outcome : outcomes) sum += outcome.*cost / outcome.best;
  return sum / static_cast<double>(outcomes.size());
}

void AddRandom(std::vector<PolicyFigure>& figures, const std::vector<Outcome>& outcomes) {
  std::vector<double> ratios;
  size_t caches = 0;
  for (const Outcome& outcome : outcomes) {
    ratios.push_back(outcome.chosen / outcome.best);
    caches += outcome.decision.cost < outcome.decision.cost_without;
  }
  const std::string worlds = fmt::format("{} worlds, a cache in {}", outcomes.size(), caches);
  figures.push_back({"placement", "chosen / best plan by brute force: median", Median(ratios),
                     "ratio", 1.02, false, worlds});
  figures.push_back({"placement", "chosen / best plan by brute force: 95th percentile",
                     Quantile(ratios, 0.95), "ratio", 1.10, false,
                     fmt::format("worst {:.3f}", Quantile(ratios, 1))});
  const double ours = Sum(outcomes, &Outcome::chosen);
  const auto mean = [&](double Outcome::* cost) { return MeanOverBest(outcomes, cost); };
  figures.push_back(
      {"placement", "total cost / that of Cachew's rule", ours / Sum(outcomes, &Outcome::cachew),
       "ratio", 0.75, false,
       fmt::format("the best plans: {:.3f}; per world, over the best: {:.3f} and {:.3f}",
                   Sum(outcomes, &Outcome::best) / Sum(outcomes, &Outcome::cachew),
                   mean(&Outcome::chosen), mean(&Outcome::cachew))});
  figures.push_back(
      {"placement", "total cost / that of Cachew's rule with the measured bandwidth for its table",
       ours / Sum(outcomes, &Outcome::cachew_measured), "ratio", std::nullopt, false,
       fmt::format("per world, over the best: {:.3f}", mean(&Outcome::cachew_measured))});
  figures.push_back({"placement", "total cost / that of no cache",
                     ours / Sum(outcomes, &Outcome::without), "ratio", std::nullopt, false,
                     fmt::format("per world, over the best: {:.3f}", mean(&Outcome::without))});
}

}  // namespace

std::vector<PolicyFigure> PlacementFigures(const FigureEffort& effort) {
  std::vector<PolicyFigure> figures;
  std::vector<Outcome> outcomes;
  const auto count = static_cast<uint64_t>(std::max(10.0, 200 * effort.share));
  for (uint64_t i = 0; i < count; ++i) {
    outcomes.push_back(
        Try(MakeWorld(effort.seed + i), effort.seed + i, effort.share < 1 ? 12 : 32));
  }
  AddRandom(figures, outcomes);
  for (const PlacementWorld& world : NamedWorlds()) {
    const Outcome outcome = Try(world, effort.seed, 32);
    figures.push_back(
        {"placement", fmt::format("{}: chosen / best", world.name), outcome.chosen / outcome.best,
         "ratio", 1.05, false,
         fmt::format("{}; Cachew's rule {:.2f}, no cache {:.2f}", outcome.decision.jobs[0].reason,
                     outcome.cachew / outcome.best, outcome.without / outcome.best)});
  }
  return figures;
}

std::vector<Series> PlacementSeries(const FigureEffort& effort) {
  std::vector<double> ours, cachew, without, ranks;
  for (uint64_t i = 0; i < 100; ++i) {
    const Outcome outcome = Try(MakeWorld(effort.seed + i), effort.seed + i, 12);
    ours.push_back(outcome.chosen / outcome.best);
    cachew.push_back(outcome.cachew / outcome.best);
    without.push_back(outcome.without / outcome.best);
    ranks.push_back(static_cast<double>(i + 1));
  }
  std::vector<Series> series;
  const auto add = [&](const char* name, std::vector<double> ratios) {
    std::sort(ratios.begin(), ratios.end());
    series.push_back({"placement: cost over the best plan", name, "worlds, each curve sorted",
                      "cost / best", ranks, std::move(ratios)});
  };
  add("Headrace", std::move(ours));
  add("Cachew's rule", std::move(cachew));
  add("no cache", std::move(without));
  return series;
}

}  // namespace headrace::orchestrate
