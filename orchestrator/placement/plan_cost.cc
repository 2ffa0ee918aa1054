// What a plan costs: caches that several jobs share are built and stored once.
#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "orchestrator/placement/placement.h"

namespace headrace::orchestrate {
namespace {

// The same bytes for two jobs, in the same place.
using CacheIdentity = std::tuple<uint64_t, size_t, double>;

// Without keys a cache is its job's own: a key that no hash is likely to be.
uint64_t KeyOf(const PlacementQuestion& question, size_t job, size_t cut) {
  const JobProfile& profile = question.jobs[job];
  if (cut < profile.prefix_keys.size()) return profile.prefix_keys[cut];
  return ~uint64_t{0} - (static_cast<uint64_t>(job) << 16) - cut;
}

class Pricing {
 public:
  Pricing(const PlacementQuestion& question, const std::vector<std::optional<CacheChoice>>& plan)
      : question_(question), plan_(plan), readers_(question.cluster.tiers.size(), 0) {}

  double Cost() {
    double cost = 0;
    for (size_t job = 0; job < plan_.size(); ++job) {
      if (!plan_[job].has_value()) {
        cost += question_.jobs[job].epochs_left * Epoch(job, {}).cost;
        continue;
      }
      const CacheChoice& choice = *plan_[job];
      ++readers_[choice.tier];
      sharers_[{KeyOf(question_, job, choice.cut), choice.tier, choice.share}].push_back(job);
    }
    if (!Fits()) return std::numeric_limits<double>::infinity();
    for (const auto& [identity, jobs] : sharers_) cost += CostOf(identity, jobs);
    return cost;
  }

 private:
  EpochPrediction Epoch(size_t job, const EpochQuestion& question) const {
    return PredictEpoch(question_.jobs[job], question_.cluster, question);
  }

  bool Fits() const {
    std::vector<double> bytes(question_.cluster.tiers.size(), 0);
    for (const auto& [identity, jobs] : sharers_) {
      const CacheChoice& choice = *plan_[jobs.front()];
      bytes[choice.tier] += CacheBytes(question_.jobs[jobs.front()], choice);
    }
    for (size_t tier = 0; tier < bytes.size(); ++tier) {
      if (bytes[tier] > question_.cluster.tiers[tier].capacity_bytes * (1 + 1e-9)) return false;
    }
    return true;
  }

  bool Exists(const CacheIdentity& identity) const {
    for (const ExistingCache& cache : question_.existing) {
      if (cache.key == std::get<0>(identity) && cache.tier == std::get<1>(identity) &&
          cache.share >= std::get<2>(identity)) {
        return true;
      }
    }
    return false;
  }

  // Who fills it: one that runs now, at the least extra cost; if none runs, the first that will.
  size_t Builder(const std::vector<size_t>& jobs) const {
    size_t best = jobs.front();
    double least = std::numeric_limits<double>::infinity();
    for (size_t job : jobs) {
      if (question_.jobs[job].queued) continue;
      const double extra =
          Epoch(job, {.choice = plan_[job], .building = true}).cost - Epoch(job, {}).cost;
      if (extra < least) {
        least = extra;
        best = job;
      }
    }
    return best;
  }

  double CostOf(const CacheIdentity& identity, const std::vector<size_t>& jobs) const {
    const bool exists = Exists(identity);
    const size_t builder = Builder(jobs);
    double cost = 0, held_seconds = 0;
    for (size_t job : jobs) {
      const JobProfile& profile = question_.jobs[job];
      const CacheChoice& choice = *plan_[job];
      const double readers = readers_[choice.tier];
      const EpochPrediction with = Epoch(job, {.choice = choice, .tier_readers = readers});
      // Epochs that begin before the cache is there.
      const bool misses_first = !exists && (job == builder || !profile.queued);
      const double first = misses_first ? std::min(1.0, profile.epochs_left) : 0;
      const EpochPrediction before =
          job == builder ? Epoch(job, {.choice = choice, .building = true}) : Epoch(job, {});
      const double later = profile.epochs_left - first;
      cost += first * before.cost + later * with.cost;
      held_seconds = std::max(held_seconds, first * before.seconds + later * with.seconds);
    }
    const CacheChoice& choice = *plan_[jobs.front()];
    const double bytes = CacheBytes(question_.jobs[jobs.front()], choice);
    return cost + bytes * held_seconds * question_.cluster.tiers[choice.tier].price_per_byte_second;
  }

  const PlacementQuestion& question_;
  const std::vector<std::optional<CacheChoice>>& plan_;
  std::vector<double> readers_;
  std::map<CacheIdentity, std::vector<size_t>> sharers_;
};

}  // namespace

double PlanCost(const PlacementQuestion& question,
                const std::vector<std::optional<CacheChoice>>& plan) {
  return Pricing(question, plan).Cost();
}

std::vector<std::optional<CacheChoice>> PlacementOptions(const PlacementQuestion& question,
                                                         size_t job, int share_steps) {
  const JobProfile& profile = question.jobs[job];
  std::vector<std::optional<CacheChoice>> options = {std::nullopt};
  for (size_t cut : LegalCuts(profile)) {
    for (size_t tier = 0; tier < question.cluster.tiers.size(); ++tier) {
      const double all = CacheBytes(profile, {cut, tier, 1});
      if (all <= 0) continue;
      const double fits = std::min(1.0, question.cluster.tiers[tier].capacity_bytes / all);
      for (int step = 1; step <= share_steps; ++step) {
        const double share = static_cast<double>(step) / share_steps;
        if (share < fits) options.push_back(CacheChoice{cut, tier, share});
      }
      if (fits > 1e-3) options.push_back(CacheChoice{cut, tier, fits});
    }
  }
  return options;
}

}  // namespace headrace::orchestrate
