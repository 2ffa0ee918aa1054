// True costs of plans, all plans, and Cachew's.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "orchestrator/simulator/caching/placement_world.h"

namespace headrace::orchestrate {
namespace {

// Seconds per row and resource, so that nothing is infinite.
struct Burdens {
  double of_one[3] = {0, 0, 0};  // CPU, network, the worker's own tier
  double of_all[3] = {0, 0, 0};  // source, shared tier, demand
};

double Over(double bytes, double bytes_per_second) {
  return bytes > 0 ? bytes / std::max(1.0, bytes_per_second) : 0;
}

double Combined(const Burdens& burdens, double workers, double p) {
  double sum = 0;
  for (double burden : burdens.of_one) sum += std::pow(burden / workers, p);
  for (double burden : burdens.of_all) sum += std::pow(burden, p);
  return std::pow(sum, 1 / p);
}

}  // namespace

TrueCosts::TrueCosts(const PlacementWorld& world, int share_steps) : world_(world) {
  for (size_t job = 0; job < world.truth.jobs.size(); ++job) {
    none_.push_back(TrueEpoch(job, {}));
    std::vector<Option> options;
    for (const auto& choice : PlacementOptions(world.truth, job, share_steps)) {
      options.push_back(MakeOption(job, choice));
    }
    options_.push_back(std::move(options));
  }
}

TrueCosts::Epoch TrueCosts::TrueEpoch(size_t job_index, const EpochQuestion& q) const {
  const JobProfile& job = world_.truth.jobs[job_index];
  const ClusterProfile& cluster = world_.truth.cluster;
  const bool reads = q.choice.has_value() && !q.building;
  const double share = reads ? q.choice->share : 0;
  const size_t cut = q.choice.has_value() ? q.choice->cut : 0;
  Burdens burdens;
  double cpu = (1 - share) * job.source_cpu_seconds;
  for (size_t i = 0; i < job.steps.size(); ++i) {
    cpu += (i < cut ? 1 - share : 1) * job.steps[i].visits * job.steps[i].cpu_seconds;
  }
  double in = (1 - share) * job.source_bytes;
  double out = job.steps.back().bytes_out;
  burdens.of_all[0] = Over(in, cluster.source_bytes_per_second);
  if (q.choice.has_value()) {
    const TierProfile& tier = cluster.tiers[q.choice->tier];
    const double moved = q.choice->share * BytesAtCut(job, cut);
    const double bandwidth = q.building ? tier.write_bytes_per_second : tier.read_bytes_per_second;
    const double burden = Over(moved, bandwidth);
    if (tier.per_worker) {
      burdens.of_one[2] = burden;
    } else {
      burdens.of_all[1] = burden * (q.building ? 1 : q.tier_readers);
    }
    if (tier.over_network) (q.building ? out : in) += moved;
    cpu += tier.codec_seconds_per_byte * moved + share * tier.read_cpu_seconds;
  }
  burdens.of_one[0] = cpu / (cluster.worker_cores * world_.efficiency);
  burdens.of_one[1] = Over(std::max(in, out), cluster.network_bytes_per_second);
  burdens.of_all[2] = 1 / job.demand;
  Epoch best{std::numeric_limits<double>::infinity(), 0};
  for (int workers = cluster.min_workers; workers <= cluster.max_workers; ++workers) {
    const double seconds = job.rows * Combined(burdens, workers, world_.sharpness);
    const double cost = seconds * (job.trainer_price + workers * cluster.worker_price);
    if (cost < best.cost) best = {cost, seconds};
  }
  return best;
}

TrueCosts::Option TrueCosts::MakeOption(size_t job,
                                        const std::optional<CacheChoice>& choice) const {
  Option option;
  option.choice = choice;
  if (!choice.has_value()) return option;
  option.bytes = CacheBytes(world_.truth.jobs[job], *choice);
  option.storage_price =
      option.bytes * world_.truth.cluster.tiers[choice->tier].price_per_byte_second;
  option.alone = TrueEpoch(job, {.choice = choice});
  option.beside = TrueEpoch(job, {.choice = choice, .tier_readers = 2});
  option.building = TrueEpoch(job, {.choice = choice, .building = true});
  return option;
}

bool TrueCosts::SameCache(size_t a, const Option& of_a, size_t b, const Option& of_b) const {
  if (!of_a.choice || !of_b.choice) return false;
  return world_.truth.jobs[a].prefix_keys[of_a.choice->cut] ==
             world_.truth.jobs[b].prefix_keys[of_b.choice->cut] &&
         of_a.choice->tier == of_b.choice->tier && of_a.choice->share == of_b.choice->share;
}

double TrueCosts::CostAlone(size_t job, const Option& option, bool beside) const {
  const double epochs = world_.truth.jobs[job].epochs_left;
  if (!option.choice) return epochs * none_[job].cost;
  const Epoch& read = beside ? option.beside : option.alone;
  const double first = std::min(1.0, epochs);
  const double held = first * option.building.seconds + (epochs - first) * read.seconds;
  return first * option.building.cost + (epochs - first) * read.cost + held * option.storage_price;
}

double TrueCosts::CostShared(const Option& first, const Option& second) const {
  const JobProfile& a = world_.truth.jobs[0];
  const JobProfile& b = world_.truth.jobs[1];
  const Option* options[2] = {&first, &second};
  double best = std::numeric_limits<double>::infinity();
  for (size_t builder = 0; builder < 2; ++builder) {
    if ((builder == 0 ? a : b).queued && !(builder == 0 ? b : a).queued) continue;
    double cost = 0, held = 0;
    for (size_t job = 0; job < 2; ++job) {
      const JobProfile& profile = world_.truth.jobs[job];
      const bool misses = job == builder || !profile.queued;
      const double start = misses ? std::min(1.0, profile.epochs_left) : 0;
      const Epoch& before = job == builder ? options[job]->building : none_[job];
      const Epoch& read = options[job]->beside;
      cost += start * before.cost + (profile.epochs_left - start) * read.cost;
      held = std::max(held, start * before.seconds + (profile.epochs_left - start) * read.seconds);
    }
    best = std::min(best, cost + held * first.storage_price);
  }
  return best;
}

double TrueCosts::CostOf(const std::vector<const Option*>& plan) const {
  const auto capacity = [&](const Option& o) {
    return o.choice ? world_.truth.cluster.tiers[o.choice->tier].capacity_bytes * (1 + 1e-6) : 0;
  };
  if (plan.size() == 1) return CostAlone(0, *plan[0], false);
  const Option &a = *plan[0], &b = *plan[1];
  if (SameCache(0, a, 1, b)) return CostShared(a, b);
  const bool beside = a.choice && b.choice && a.choice->tier == b.choice->tier;
  if (beside && a.bytes + b.bytes > capacity(a)) return std::numeric_limits<double>::infinity();
  return CostAlone(0, a, beside) + CostAlone(1, b, beside);
}

double TrueCosts::Cost(const PlacementPlan& plan) const {
  std::vector<Option> options;
  for (size_t job = 0; job < plan.size(); ++job) {
    std::optional<CacheChoice> choice = plan[job];
    // A share that fits by what was measured may be a little too much: the rest is not admitted.
    if (choice.has_value()) {
      const double capacity = world_.truth.cluster.tiers[choice->tier].capacity_bytes;
      const double bytes = CacheBytes(world_.truth.jobs[job], *choice);
      if (bytes > capacity) choice->share *= capacity / bytes;
    }
    options.push_back(MakeOption(job, choice));
  }
  std::vector<const Option*> chosen;
  for (const Option& option : options) chosen.push_back(&option);
  const double cost = CostOf(chosen);
  if (std::isfinite(cost)) return cost;
  // Two that do not fit beside each other: both give up the same part.
  PlacementPlan smaller = plan;
  for (auto& choice : smaller) {
    if (choice.has_value()) choice->share *= 0.97;
  }
  return Cost(smaller);
}

TrueCosts::Best TrueCosts::BruteForce() const {
  Best best{std::numeric_limits<double>::infinity(), {}};
  if (options_.size() == 1) {
    for (const Option& option : options_[0]) {
      const double cost = CostOf({&option});
      if (cost < best.cost) best = {cost, {option.choice}};
    }
    return best;
  }
  for (const Option& a : options_[0]) {
    for (const Option& b : options_[1]) {
      const double cost = CostOf({&a, &b});
      if (cost < best.cost) best = {cost, {a.choice, b.choice}};
    }
  }
  return best;
}

double CachewReadSeconds(double bytes) {
  // cache_model.cc of the public source: bytes, milliseconds.
  static constexpr std::array<std::array<double, 2>, 9> kTable = {{{5e6, 6.72013525},
                                                                   {10e6, 14.02351225},
                                                                   {15e6, 20.92850325},
                                                                   {20e6, 27.214591},
                                                                   {25e6, 33.8173755},
                                                                   {30e6, 41.25171825},
                                                                   {50e6, 91.6577605},
                                                                   {75e6, 136.61998825},
                                                                   {100e6, 184.2904355}}};
  size_t upper = 1;
  while (upper + 1 < kTable.size() && bytes >= kTable[upper][0]) ++upper;
  const auto &low = kTable[upper - 1], &high = kTable[upper];
  const double slope = (high[1] - low[1]) / (high[0] - low[0]);
  return (low[1] + (bytes - low[0]) * slope) / 1000;
}

namespace {

template <typename ReadSeconds>
PlacementPlan Cachew(const PlacementWorld& world, const PlacementQuestion& measured,
                     ReadSeconds read) {
  constexpr size_t kStore = 2;
  PlacementPlan plan;
  for (size_t job = 0; job < measured.jobs.size(); ++job) {
    const JobProfile& profile = measured.jobs[job];
    const size_t last = LegalCuts(profile).back();
    const auto after = [&](size_t cut) {
      double seconds = 0;
      for (size_t i = cut; i < profile.steps.size(); ++i) {
        seconds += profile.steps[i].visits * profile.steps[i].cpu_seconds;
      }
      return seconds;
    };
    // It profiles one worker, each of whose threads waits for its own reads.
    const double source = profile.source_cpu_seconds + profile.source_bytes *
                                                           measured.cluster.worker_cores /
                                                           measured.cluster.source_bytes_per_second;
    const double compute = source + after(0);
    const double full = read(BytesAtCut(profile, last)) + after(last);
    const double marked = read(BytesAtCut(profile, world.marker[job])) + after(world.marker[job]);
    std::optional<CacheChoice> choice;
    if (std::min(full, marked) < compute)
      choice = CacheChoice{marked < full ? world.marker[job] : last, kStore, 1};
    if (choice && measured.cluster.tiers[kStore].capacity_bytes <= 0) choice.reset();
    plan.push_back(choice);
  }
  return plan;
}

}  // namespace

PlacementPlan CachewPlan(const PlacementWorld& world, const PlacementQuestion& measured) {
  return Cachew(world, measured, CachewReadSeconds);
}

PlacementPlan CachewPlanMeasured(const PlacementWorld& world, const PlacementQuestion& measured) {
  const TierProfile& store = measured.cluster.tiers[2];
  return Cachew(world, measured, [&](double bytes) {
    return store.read_cpu_seconds +
           bytes * measured.cluster.worker_cores / store.read_bytes_per_second;
  });
}

}  // namespace headrace::orchestrate
