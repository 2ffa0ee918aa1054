// Eight jobs with churn: whose cache policy feeds them best, and how evenly cached items are mixed
// in.
#include <algorithm>
#include <map>

#include "fmt/format.h"
#include "orchestrator/simulator/caching/policy_figure.h"
#include "orchestrator/simulator/caching/shared_plant.h"

namespace headrace::orchestrate {
namespace {

SharedResult MeanOf(const FigureEffort& effort, const SharedPlantOptions& options,
                    SharingPolicy policy) {
  const auto count = static_cast<uint64_t>(std::max(2.0, 12 * effort.share));
  SharedResult sum;
  for (uint64_t i = 0; i < count; ++i) {
    const SharedResult one = SharedPlant(options, policy, effort.seed + i).Run();
    sum.mean_speed += one.mean_speed / static_cast<double>(count);
    sum.least_speed += one.least_speed / static_cast<double>(count);
    sum.mixing += one.mixing / static_cast<double>(count);
    sum.most_used = std::max(sum.most_used, one.most_used);
  }
  return sum;
}

void AddMix(std::vector<PolicyFigure>& figures, const FigureEffort& effort, size_t datasets) {
  SharedPlantOptions options;
  options.datasets = datasets;
  if (datasets > 0) {  // a quarter of what running jobs' datasets hold, as with a dataset each
    options.budget = 2000;
    options.link = 20;
  }
  const std::string mix =
      datasets > 0 ? fmt::format("jobs over {} datasets", datasets) : "a dataset each";
  std::map<SharingPolicy, SharedResult> results;
  for (SharingPolicy policy :
       {SharingPolicy::kHeadrace, SharingPolicy::kLru, SharingPolicy::kEqualSplit,
        SharingPolicy::kNoEvict, SharingPolicy::kQuiver2, SharingPolicy::kQuiver10}) {
    results[policy] = MeanOf(effort, options, policy);
  }
  const SharedResult& ours = results[SharingPolicy::kHeadrace];
  for (const auto& [policy, result] : results) {
    if (policy == SharingPolicy::kHeadrace) continue;
    std::optional<double> target;
    if (policy == SharingPolicy::kLru) target = 1.3;
    if (policy == SharingPolicy::kEqualSplit) target = 1.1;
    figures.push_back(
        {"sharing", fmt::format("{}: mean speed / that of {}", mix, Name(policy)),
         ours.mean_speed / result.mean_speed, "ratio", target, true,
         fmt::format("mean x/f* {:.3f} and {:.3f}; slowest job {:.3f} and {:.3f}", ours.mean_speed,
                     result.mean_speed, ours.least_speed, result.least_speed)});
  }
  figures.push_back({"sharing", fmt::format("{}: most of the budget ever held", mix),
                     ours.most_used, "ratio", 1.0, false, ""});
  const double unbounded =
      datasets > 0 ? MeanOf(effort, options, SharingPolicy::kHitsFirst).mixing : 0;
  figures.push_back(
      {"sharing", fmt::format("{}: variance of a batch's cached share / by chance", mix),
       ours.mixing, "ratio", std::nullopt, false,
       fmt::format(
           "no look-ahead {:.2f}, k = 2 {:.2f}, k = 10 {:.2f}{}; 64 would be all or nothing",
           results[SharingPolicy::kEqualSplit].mixing, results[SharingPolicy::kQuiver2].mixing,
           results[SharingPolicy::kQuiver10].mixing,
           datasets > 0 ? fmt::format(", unbounded {:.2f}", unbounded) : "")});
}

}  // namespace

std::vector<PolicyFigure> SharingFigures(const FigureEffort& effort) {
  std::vector<PolicyFigure> figures;
  AddMix(figures, effort, 4);
  AddMix(figures, effort, 0);
  return figures;
}

}  // namespace headrace::orchestrate
