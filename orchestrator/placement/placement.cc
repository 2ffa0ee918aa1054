#include "orchestrator/placement/placement.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "fmt/format.h"

namespace headrace::orchestrate {
namespace {

using Plan = std::vector<std::optional<CacheChoice>>;

bool KeyAt(const JobProfile& job, size_t cut, uint64_t key) {
  return cut < job.prefix_keys.size() && job.prefix_keys[cut] == key;
}

class Search {
 public:
  Search(const PlacementQuestion& question, const PlacementRule& rule) : question_(question) {
    for (size_t job = 0; job < question.jobs.size(); ++job) {
      options_.push_back(PlacementOptions(question, job, rule.share_steps));
    }
  }

  // The best plan that single changes reach from "no cache" and from each cache that several share.
  Plan Best() const {
    Plan best = Improved(Plan(question_.jobs.size()));
    double least = PlanCost(question_, best);
    for (const auto& [key, jobs] : SharedKeys()) {
      Plan plan = Improved(Shared(key, jobs));
      const double cost = PlanCost(question_, plan);
      if (cost < least) {
        least = cost;
        best = std::move(plan);
      }
    }
    return best;
  }

  const std::vector<std::optional<CacheChoice>>& options(size_t job) const { return options_[job]; }

 private:
  // Key -> (job, its cut) of all jobs that have it, for keys of two or more.
  std::map<uint64_t, std::vector<std::pair<size_t, size_t>>> SharedKeys() const {
    std::map<uint64_t, std::vector<std::pair<size_t, size_t>>> keys;
    for (size_t job = 0; job < question_.jobs.size(); ++job) {
      for (size_t cut : LegalCuts(question_.jobs[job])) {
        if (cut < question_.jobs[job].prefix_keys.size()) {
          keys[question_.jobs[job].prefix_keys[cut]].push_back({job, cut});
        }
      }
    }
    std::erase_if(keys, [](const auto& entry) { return entry.second.size() < 2; });
    return keys;
  }

  // All that have the key read the same cache of it: the best tier and share for them together.
  Plan Shared(uint64_t key, const std::vector<std::pair<size_t, size_t>>& jobs) const {
    Plan best(question_.jobs.size());
    double least = std::numeric_limits<double>::infinity();
    for (const auto& option : options_[jobs.front().first]) {
      if (!option.has_value() || option->cut != jobs.front().second) continue;
      Plan plan(question_.jobs.size());
      for (const auto& [job, cut] : jobs) {
        if (KeyAt(question_.jobs[job], cut, key)) plan[job] = {cut, option->tier, option->share};
      }
      const double cost = PlanCost(question_, plan);
      if (cost < least) {
        least = cost;
        best = std::move(plan);
      }
    }
    return best;
  }

  // What the others cache, as this job would read it, is tried besides its own options: a share
  // that fits one's capacity exactly is on nobody else's list.
  std::vector<std::optional<CacheChoice>> OptionsBeside(const Plan& plan, size_t job) const {
    auto options = options_[job];
    for (size_t other = 0; other < plan.size(); ++other) {
      if (other == job || !plan[other].has_value()) continue;
      const JobProfile& theirs = question_.jobs[other];
      if (plan[other]->cut >= theirs.prefix_keys.size()) continue;
      for (size_t cut : LegalCuts(question_.jobs[job])) {
        if (KeyAt(question_.jobs[job], cut, theirs.prefix_keys[plan[other]->cut])) {
          options.push_back(CacheChoice{cut, plan[other]->tier, plan[other]->share});
        }
      }
    }
    return options;
  }

  Plan Improved(Plan plan) const {
    double least = PlanCost(question_, plan);
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t job = 0; job < plan.size(); ++job) {
        const auto before = plan[job];
        auto best = before;
        for (const auto& option : OptionsBeside(plan, job)) {
          plan[job] = option;
          const double cost = PlanCost(question_, plan);
          if (cost < least * (1 - 1e-9)) {
            least = cost;
            best = option;
          }
        }
        plan[job] = best;
        changed = changed || best != before;
      }
    }
    return plan;
  }

  const PlacementQuestion& question_;
  std::vector<std::vector<std::optional<CacheChoice>>> options_;
};

double Saving(const PlacementQuestion& question, const Plan& plan) {
  return PlanCost(question, Plan(plan.size())) - PlanCost(question, plan);
}

// What one standard error of each measurement, one at a time, does to the saving.
double SavingSigma(const PlacementQuestion& question, const Plan& plan) {
  const double saving = Saving(question, plan);
  double variance = 0;
  const auto moved = [&](const std::function<void(PlacementQuestion&)>& move) {
    PlacementQuestion other = question;
    move(other);
    const double difference = Saving(other, plan) - saving;
    if (std::isfinite(difference)) variance += difference * difference;
  };
  for (size_t job = 0; job < question.jobs.size(); ++job) {
    if (!plan[job].has_value()) continue;
    for (size_t step = 0; step < question.jobs[job].steps.size(); ++step) {
      moved([&](PlacementQuestion& q) {
        StepProfile& profile = q.jobs[job].steps[step];
        profile.cpu_seconds += std::min(CpuError(profile), profile.cpu_seconds);
      });
    }
    moved([&](PlacementQuestion& q) { q.jobs[job].demand *= 1 + q.jobs[job].demand_error; });
  }
  for (size_t tier = 0; tier < question.cluster.tiers.size(); ++tier) {
    moved([&](PlacementQuestion& q) {
      TierProfile& profile = q.cluster.tiers[tier];
      profile.read_bytes_per_second /= 1 + profile.bandwidth_error;
      profile.write_bytes_per_second /= 1 + profile.bandwidth_error;
    });
  }
  moved([&](PlacementQuestion& q) {
    q.cluster.source_bytes_per_second *= 1 + q.cluster.source_bandwidth_error;
  });
  return std::sqrt(variance);
}

// Jobs whose choices hang together: they read the same cache.
std::vector<std::set<size_t>> Groups(const PlacementQuestion& question, const Plan& plan) {
  std::map<std::tuple<uint64_t, size_t, double>, std::set<size_t>> groups;
  for (size_t job = 0; job < plan.size(); ++job) {
    if (!plan[job].has_value()) continue;
    const auto& keys = question.jobs[job].prefix_keys;
    const uint64_t key = plan[job]->cut < keys.size() ? keys[plan[job]->cut] : ~uint64_t{0} - job;
    groups[{key, plan[job]->tier, plan[job]->share}].insert(job);
  }
  std::vector<std::set<size_t>> sets;
  for (auto& [identity, jobs] : groups) sets.push_back(std::move(jobs));
  return sets;
}

std::string Place(const PlacementQuestion& question, size_t job, const CacheChoice& choice) {
  const JobProfile& profile = question.jobs[job];
  const std::string where =
      choice.cut == 0 ? "the source" : fmt::format("step {}", profile.steps[choice.cut - 1].name);
  const std::string part =
      choice.share < 0.999 ? fmt::format("{:.0f}% of the rows", 100 * choice.share) : "all rows";
  return fmt::format("{} after {} in {}", part, where, question.cluster.tiers[choice.tier].name);
}

std::string Speed(const EpochPrediction& epoch) {
  return fmt::format("{:.4g} rows/s with {} workers, bound by {}", epoch.rows_per_second,
                     epoch.workers, Name(epoch.bottleneck));
}

class Decider {
 public:
  Decider(const PlacementQuestion& question, const PlacementRule& rule)
      : question_(question), rule_(rule), search_(question, rule) {}

  PlacementDecision Decide() {
    const size_t count = question_.jobs.size();
    Plan plan = search_.Best();
    if (rule_.share_slack > 0) Enlarge(plan);
    reasons_.assign(count, "");
    for (const std::set<size_t>& group : Groups(question_, plan)) Adopt(group, plan);
    PlacementDecision decision;
    decision.cost_without = PlanCost(question_, Plan(count));
    decision.cost = PlanCost(question_, plan);
    decision.saving_sigma = SavingSigma(question_, plan);
    for (size_t job = 0; job < count; ++job) decision.jobs.push_back(Describe(job, plan));
    return decision;
  }

 private:
  // Caches that several share grow together.
  void Enlarge(Plan& plan) const {
    const double most = (1 + rule_.share_slack) * PlanCost(question_, plan);
    for (const std::set<size_t>& group : Groups(question_, plan)) {
      const size_t first = *group.begin();
      const CacheChoice now = *plan[first];
      Plan best = plan;
      for (const auto& option : search_.options(first)) {
        if (!option.has_value() || option->cut != now.cut || option->tier != now.tier) continue;
        if (option->share <= best[first]->share) continue;
        Plan larger = plan;
        for (size_t job : group) larger[job]->share = option->share;
        if (PlanCost(question_, larger) <= most) best = std::move(larger);
      }
      plan = std::move(best);
    }
  }

  void Adopt(const std::set<size_t>& group, Plan& plan) {
    PlacementQuestion part{{}, question_.cluster, question_.existing};
    Plan choices;
    for (size_t job : group) {
      part.jobs.push_back(question_.jobs[job]);
      choices.push_back(plan[job]);
    }
    const double without = PlanCost(part, Plan(choices.size()));
    const double saving = without - PlanCost(part, choices);
    const double sigma = SavingSigma(part, choices);
    const double threshold = std::max(rule_.least_saving * without, rule_.sigmas * sigma);
    const std::string numbers = fmt::format(
        "saves {:.1f}% of {:.4g} over the epochs left of {} job{} (needed {:.1f}%, uncertain by "
        "{:.1f}%)",
        100 * saving / without, without, group.size(), group.size() == 1 ? "" : "s",
        100 * threshold / without, 100 * sigma / without);
    for (size_t job : group) {
      const std::string place = Place(question_, job, *plan[job]);
      if (saving > threshold) {
        reasons_[job] = fmt::format("caching {} {}", place, numbers);
      } else {
        reasons_[job] = fmt::format("no cache: the best, {}, only {}", place, numbers);
        plan[job].reset();
      }
    }
  }

  JobPlacement Describe(size_t job, const Plan& plan) const {
    JobPlacement placement;
    placement.job = question_.jobs[job].job;
    placement.choice = plan[job];
    double readers = 0;
    for (const auto& choice : plan)
      readers += choice && plan[job] && choice->tier == plan[job]->tier;
    placement.without = PredictEpoch(question_.jobs[job], question_.cluster, {});
    placement.with = PredictEpoch(question_.jobs[job], question_.cluster,
                                  {.choice = plan[job], .tier_readers = readers});
    placement.candidates = Candidates(job, plan[job]);
    const std::string without = Speed(placement.without);
    if (!reasons_[job].empty()) {
      placement.reason = plan[job].has_value() ? fmt::format("{}: {} instead of {}", reasons_[job],
                                                             Speed(placement.with), without)
                                               : reasons_[job];
    } else if (question_.jobs[job].epochs_left <= 1) {
      placement.reason = fmt::format("no cache: {:.2g} epochs are left, none would read it",
                                     question_.jobs[job].epochs_left);
    } else {
      placement.reason = fmt::format("no cache is cheaper than none: {}", without);
    }
    return placement;
  }

  // The best share of each cut and tier, cheapest first, for this job alone.
  std::vector<PlacementCandidate> Candidates(size_t job,
                                             const std::optional<CacheChoice>& chosen) const {
    const PlacementQuestion alone{{question_.jobs[job]}, question_.cluster, question_.existing};
    std::map<std::pair<size_t, size_t>, PlacementCandidate> best;
    std::vector<PlacementCandidate> all;
    for (const auto& option : search_.options(job)) {
      PlacementCandidate candidate;
      candidate.choice = option;
      candidate.cost = PlanCost(alone, {option});
      candidate.epoch = PredictEpoch(question_.jobs[job], question_.cluster, {.choice = option});
      candidate.bytes = option.has_value() ? CacheBytes(question_.jobs[job], *option) : 0;
      if (!option.has_value()) {
        all.push_back(std::move(candidate));
        continue;
      }
      const auto [found, added] = best.try_emplace({option->cut, option->tier}, candidate);
      if (!added && (candidate.cost < found->second.cost || option == chosen))
        found->second = candidate;
    }
    for (auto& [place, candidate] : best) all.push_back(std::move(candidate));
    for (PlacementCandidate& candidate : all) candidate.chosen = candidate.choice == chosen;
    std::stable_sort(all.begin(), all.end(),
                     [](const auto& a, const auto& b) { return a.cost < b.cost; });
    return all;
  }

  const PlacementQuestion& question_;
  const PlacementRule& rule_;
  Search search_;
  std::vector<std::string> reasons_;
};

}  // namespace

PlacementDecision DecidePlacement(const PlacementQuestion& question, const PlacementRule& rule) {
  return Decider(question, rule).Decide();
}

std::string ExplainPlacement(const PlacementQuestion& question, const JobPlacement& placement,
                             std::optional<double> observed_rows_per_second) {
  size_t job = 0;
  while (job + 1 < question.jobs.size() && question.jobs[job].job != placement.job) ++job;
  std::string text = fmt::format("{}: {}\n", placement.job, placement.reason);
  for (const PlacementCandidate& candidate : placement.candidates) {
    text += fmt::format("  {} {:<44} cost {:>10.4g}  {}\n", candidate.chosen ? "*" : " ",
                        candidate.choice ? Place(question, job, *candidate.choice) : "no cache",
                        candidate.cost, Speed(candidate.epoch));
  }
  if (observed_rows_per_second.has_value()) {
    text += fmt::format("  predicted {:.4g} rows/s, observed {:.4g}: {:+.1f}%\n",
                        placement.with.rows_per_second, *observed_rows_per_second,
                        100 * (*observed_rows_per_second / placement.with.rows_per_second - 1));
  }
  return text;
}

}  // namespace headrace::orchestrate
