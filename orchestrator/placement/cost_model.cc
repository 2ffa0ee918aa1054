#include "orchestrator/placement/cost_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headrace::orchestrate {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

double PerRow(double bytes_per_second, double bytes) {
  return bytes > 0 ? bytes_per_second / bytes : kUnlimited;
}

// Rows/s by each resource: of one worker, which more workers multiply, and of what they share.
struct Limits {
  double cpu = kUnlimited, network = kUnlimited, own_tier = kUnlimited;    // of one worker
  double source = kUnlimited, tier = kUnlimited, tier_write = kUnlimited;  // of all
  double of_one() const { return std::min({cpu, network, own_tier}); }
  double of_all() const { return std::min({source, tier, tier_write}); }
};

Limits LimitsOf(const JobProfile& job, const ClusterProfile& cluster, const EpochQuestion& q) {
  const bool cached = q.choice.has_value() && !q.building;
  const double share = cached ? q.choice->share : 0;
  const TierProfile* tier = q.choice.has_value() ? &cluster.tiers[q.choice->tier] : nullptr;
  const double cut_bytes = q.choice.has_value() ? BytesAtCut(job, q.choice->cut) : 0;
  Limits limits;
  double cpu = CpuPerRow(job, cluster, cached ? q.choice : std::nullopt);
  limits.source = PerRow(cluster.source_bytes_per_second, (1 - share) * job.source_bytes);
  double in = (1 - share) * job.source_bytes;
  double out = job.steps.empty() ? job.source_bytes : job.steps.back().bytes_out;
  if (cached) {
    const double read = PerRow(tier->read_bytes_per_second, share * cut_bytes);
    if (tier->per_worker) {
      limits.own_tier = read;  // a job has so many workers' worth to itself
    } else {
      limits.tier = read / std::max(1.0, q.tier_readers);
    }
    if (tier->over_network) in += share * cut_bytes;
  } else if (tier != nullptr) {
    const double written = q.choice->share * cut_bytes;
    const double write = PerRow(tier->write_bytes_per_second, written);
    (tier->per_worker ? limits.own_tier : limits.tier_write) = write;
    if (tier->over_network) out += written;
    cpu += tier->codec_seconds_per_byte * written;
  }
  limits.cpu = cpu > 0 ? cluster.worker_cores * cluster.efficiency / cpu : kUnlimited;
  limits.network = PerRow(cluster.network_bytes_per_second, std::max(in, out));
  return limits;
}

Bottleneck Which(const Limits& limits, double demand, int workers) {
  const double rate = std::min({demand, workers * limits.of_one(), limits.of_all()});
  if (rate >= demand) return Bottleneck::kTrainer;
  if (rate >= limits.source) return Bottleneck::kSource;
  if (rate >= limits.tier) return Bottleneck::kTier;
  if (rate >= limits.tier_write) return Bottleneck::kTierWrite;
  if (limits.of_one() >= limits.cpu) return Bottleneck::kCpu;
  return limits.of_one() >= limits.network ? Bottleneck::kNetwork : Bottleneck::kTier;
}

EpochPrediction Predict(const JobProfile& job, const ClusterProfile& cluster, const Limits& limits,
                        int workers) {
  EpochPrediction prediction;
  prediction.workers = workers;
  prediction.rows_per_second = std::min({job.demand, workers * limits.of_one(), limits.of_all()});
  prediction.seconds = job.rows / std::max(1e-12, prediction.rows_per_second);
  prediction.cost = prediction.seconds * (job.trainer_price + workers * cluster.worker_price);
  prediction.bottleneck = Which(limits, job.demand, workers);
  return prediction;
}

}  // namespace

std::string_view Name(Bottleneck bottleneck) {
  switch (bottleneck) {
    case Bottleneck::kTrainer:
      return "the trainer";
    case Bottleneck::kCpu:
      return "the workers' CPU";
    case Bottleneck::kSource:
      return "reading the source";
    case Bottleneck::kTier:
      return "reading the cache";
    case Bottleneck::kNetwork:
      return "the workers' network";
    case Bottleneck::kTierWrite:
      return "writing the cache";
  }
  return "?";
}

double CpuPerRow(const JobProfile& job, const ClusterProfile& cluster,
                 const std::optional<CacheChoice>& choice) {
  const double share = choice.has_value() ? choice->share : 0;
  double cpu = (1 - share) * job.source_cpu_seconds;
  for (size_t i = 0; i < job.steps.size(); ++i) {
    const double step = job.steps[i].visits * job.steps[i].cpu_seconds;
    cpu += choice.has_value() && i < choice->cut ? (1 - share) * step : step;
  }
  if (choice.has_value()) {
    const TierProfile& tier = cluster.tiers[choice->tier];
    cpu += share *
           (tier.read_cpu_seconds + tier.codec_seconds_per_byte * BytesAtCut(job, choice->cut));
  }
  return cpu;
}

EpochPrediction PredictEpochWith(const JobProfile& job, const ClusterProfile& cluster,
                                 const EpochQuestion& question, int workers) {
  return Predict(job, cluster, LimitsOf(job, cluster, question), workers);
}

EpochPrediction PredictEpoch(const JobProfile& job, const ClusterProfile& cluster,
                             const EpochQuestion& question) {
  const Limits limits = LimitsOf(job, cluster, question);
  // Cost falls with workers until they are enough, and rises from there: the best is beside it.
  const double enough = std::min(job.demand, limits.of_all()) / limits.of_one();
  const double bounded =
      std::clamp(std::floor(enough), 1.0 * cluster.min_workers, 1.0 * cluster.max_workers);
  const int fewer = static_cast<int>(bounded);
  const EpochPrediction with_fewer = Predict(job, cluster, limits, fewer);
  if (fewer >= cluster.max_workers) return with_fewer;
  const EpochPrediction with_more = Predict(job, cluster, limits, fewer + 1);
  return with_more.cost < with_fewer.cost ? with_more : with_fewer;
}

double CacheBytes(const JobProfile& job, const CacheChoice& choice) {
  double copies = 1;
  if (choice.cut > 0 && job.steps[choice.cut - 1].random) copies = std::max(1, job.variants);
  return copies * choice.share * job.rows * BytesAtCut(job, choice.cut);
}

}  // namespace headrace::orchestrate
