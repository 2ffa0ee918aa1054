// What an epoch costs with and without a cache, predicted from a profile: a bottleneck of CPU,
// source, tier and network, and the number of workers that makes it cheapest. Pure functions.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "orchestrator/placement/profile.h"
#include "orchestrator/placement/tier.h"

namespace headrace::orchestrate {

struct ClusterProfile {
  std::vector<TierProfile> tiers;
  double source_bytes_per_second = 0;   // R of the storage that the source lies in, left over
  double source_bandwidth_error = 0;    // relative
  double worker_cores = 0;              // P
  double efficiency = 0.9;              // eta: of the cores' time that steps can get
  double network_bytes_per_second = 0;  // B of one worker
  double worker_price = 0;              // per second
  int min_workers = 1;
  int max_workers = 64;
};

// A cache of `share` of the rows (a pinned subset by hash) behind cut `cut` in tier `tier`.
struct CacheChoice {
  size_t cut = 0;
  size_t tier = 0;
  double share = 1;

  bool operator==(const CacheChoice&) const = default;
};

enum class Bottleneck { kTrainer, kCpu, kSource, kTier, kNetwork, kTierWrite };
std::string_view Name(Bottleneck bottleneck);

struct EpochPrediction {
  double rows_per_second = 0;  // min(demand, what the workers can)
  int workers = 0;
  double seconds = 0;
  double cost = 0;
  Bottleneck bottleneck = Bottleneck::kTrainer;
};

struct EpochQuestion {
  std::optional<CacheChoice> choice;  // nullopt: no cache
  bool building = false;              // fills `choice` in this epoch, reads nothing from it
  double tier_readers =
      1;  // jobs that read from that tier at the same time, if all workers share it
};

// CPU seconds of a row of the source.
double CpuPerRow(const JobProfile& job, const ClusterProfile& cluster,
                 const std::optional<CacheChoice>& choice);

// With exactly `workers`, whether that is cheap or not.
EpochPrediction PredictEpochWith(const JobProfile& job, const ClusterProfile& cluster,
                                 const EpochQuestion& question, int workers);
// With the cheapest number of workers between the cluster's bounds.
EpochPrediction PredictEpoch(const JobProfile& job, const ClusterProfile& cluster,
                             const EpochQuestion& question);

// What `choice` occupies.
double CacheBytes(const JobProfile& job, const CacheChoice& choice);

}  // namespace headrace::orchestrate
