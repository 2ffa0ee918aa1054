// Made-up clusters and jobs for the placement policy: what is true of them, what measuring them
// shows, and what each plan really costs. Costs are computed here by a model of their own, which is
// not the policy's: resources that are nearly equal slow each other down, cores are not as
// efficient as the policy assumes, and the policy sees profiles of a few hundred rows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orchestrator/placement/placement.h"
#include "orchestrator/seeded_random.h"

namespace headrace::orchestrate {

struct PlacementWorld {
  std::string name;
  PlacementQuestion truth;
  double efficiency = 0.9;  // true eta; the policy assumes .9
  // Rates combine as (sum of limit^-p)^(-1/p): two equal limits cost 7% at p = 10.
  double sharpness = 10;
  double row_variation = 0.6;  // standard deviation of one row's CPU time over its mean
  double rows_measured = 1000;
  double noise = 0.05;         // of measured demand; twice as much of bandwidths
  std::vector<size_t> marker;  // per job: the cut that its author marked, for Cachew's rule
};

PlacementWorld MakeWorld(uint64_t seed);
// The cases of docs/design/033-placement.md, each with its name.
std::vector<PlacementWorld> NamedWorlds();

// What the policy is told of it.
PlacementQuestion Measure(const PlacementWorld& world, uint64_t seed);

using PlacementPlan = std::vector<std::optional<CacheChoice>>;

// True costs of plans over the epochs that are left. Tables are made once per world.
class TrueCosts {
 public:
  // Shares of 1/`share_steps`, and what fits exactly.
  TrueCosts(const PlacementWorld& world, int share_steps);

  double Cost(const PlacementPlan& plan) const;
  double Without() const { return Cost(PlacementPlan(world_.truth.jobs.size())); }
  // The cheapest of all combinations of options (at most two jobs).
  struct Best {
    double cost = 0;
    PlacementPlan plan;
  };
  Best BruteForce() const;

 private:
  struct Epoch {
    double cost = 0, seconds = 0;
  };
  struct Option {
    std::optional<CacheChoice> choice;
    double bytes = 0, storage_price = 0;
    Epoch alone, beside, building;  // one reader of the tier, two, and while it is filled
  };
  Epoch TrueEpoch(size_t job, const EpochQuestion& question) const;
  Option MakeOption(size_t job, const std::optional<CacheChoice>& choice) const;
  bool SameCache(size_t a, const Option& of_a, size_t b, const Option& of_b) const;
  double CostOf(const std::vector<const Option*>& plan) const;
  double CostAlone(size_t job, const Option& option, bool beside) const;
  double CostShared(const Option& first, const Option& second) const;

  const PlacementWorld& world_;
  std::vector<std::vector<Option>> options_;
  std::vector<Epoch> none_;
};

// Cachew's rule (ATC '22, and its public source): once, after 300 elements, whichever of three is
// least: active time per row; the fixed table's time for a row of the last legal cut; that for a
// row of the marked cut, plus the active time of what comes after it. The cache goes to the shared
// store; no write cost, capacity, epochs left or sharing is looked at. What does not fit is left
// out.
PlacementPlan CachewPlan(const PlacementWorld& world, const PlacementQuestion& measured);
// The same with the store's measured bandwidth in place of the table.
PlacementPlan CachewPlanMeasured(const PlacementWorld& world, const PlacementQuestion& measured);
// Seconds for a row of so many bytes by Cachew's table of 9 points, straight lines between and
// beyond.
double CachewReadSeconds(double bytes);

}  // namespace headrace::orchestrate
