// The gates of the capacity controller, on per-item runs with real shuffles and slow eviction.
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>

#include "fmt/format.h"
#include "orchestrator/capacity/controller.h"
#include "orchestrator/seeded_random.h"
#include "orchestrator/simulator/caching/capacity_baselines.h"
#include "orchestrator/simulator/caching/capacity_plant.h"
#include "orchestrator/simulator/caching/policy_figure.h"
#include "orchestrator/simulator/caching/policy_series.h"
#include "orchestrator/statistics.h"

namespace headrace::orchestrate {
namespace {

constexpr double kPeriodsPerEpoch = 20;  // at full speed
constexpr size_t kEpochs = 30;

using Sizer = std::function<double(const CapacityObservation&)>;

struct Run {
  double knee = 0;                // share of the dataset
  double speed = 0;               // mean of the second half / f*
  double capacity = 0;            // mean of the second half, share of the dataset
  std::optional<size_t> in_band;  // the epoch from which 20 periods are within .10 d of the knee
};

Run RunSizer(const PlantOptions& options, double knee, const Sizer& sizer) {
  CapacityPlant plant(options);
  const auto d = static_cast<double>(options.items);
  const double seconds = d / options.full_speed / kPeriodsPerEpoch;
  std::vector<double> capacities, speeds;
  std::vector<size_t> epochs;
  double capacity = d / 64;
  while (plant.epoch() < kEpochs) {
    const CapacityObservation seen = plant.Run(capacity, seconds);
    capacities.push_back(capacity / d);
    speeds.push_back(plant.speed() / options.full_speed);
    epochs.push_back(plant.epoch());
    capacity = sizer(seen);
  }
  Run run;
  run.knee = knee;
  const size_t half = capacities.size() / 2;
  run.capacity = Mean(std::span(capacities).subspan(half));
  run.speed = Mean(std::span(speeds).subspan(half));
  size_t inside = 0;
  for (size_t i = 0; i < capacities.size() && !run.in_band; ++i) {
    inside = std::abs(capacities[i] - std::max(knee, 1.0 / 64)) <= 0.10 ? inside + 1 : 0;
    if (inside == 20) run.in_band = epochs[i + 1 - inside];
  }
  return run;
}

Sizer ControllerSizer(bool lru) {
  auto state = std::make_shared<CapacityState>();
  std::vector<HitCurvePoint> curve;
  for (int i = 1; lru && i <= 32; ++i) {
    const double x = i / 32.0;
    curve.push_back({x, x < 1 ? x + (1 - x) * std::log(1 - x) : 1});
  }
  return [state, curve](const CapacityObservation& seen) {
    CapacityObservation observation = seen;
    observation.hit_curve = curve;
    CapacityDecision decision = DecideCapacity(CapacityConstants(), observation, std::move(*state));
    *state = std::move(decision.state);
    return decision.capacity_bytes;
  };
}

double LruKnee(double hit_ratio) {
  double low = 0, high = 1 - 1e-9;
  for (int i = 0; i < 60; ++i) {
    const double x = (low + high) / 2;
    (x + (1 - x) * std::log(1 - x) < hit_ratio ? low : high) = x;
  }
  return high;
}

enum class Kind { kController, kHpa, kHill };

std::vector<Run> RunMany(const FigureEffort& effort, double sigma, PlantCache cache, Kind kind,
                         bool prepare_bound = false) {
  std::vector<Run> runs;
  const auto count = static_cast<size_t>(std::max(4.0, 150 * effort.share));
  for (size_t i = 0; i < count; ++i) {
    SeededRandom random(effort.seed + i);
    PlantOptions options;
    options.seed = effort.seed + i;
    options.sigma = sigma;
    options.cache = cache;
    const double ratio = prepare_bound ? 0.5 : random.Uniform(0.10, 0.95);
    options.miss_speed = ratio * options.full_speed;
    if (prepare_bound) options.prepare_speed = 0.4 * options.full_speed;
    const double knee = prepare_bound               ? 0
                        : cache == PlantCache::kLru ? LruKnee(1 - ratio)
                                                    : 1 - ratio;
    const auto d = static_cast<double>(options.items);
    Sizer sizer = ControllerSizer(cache == PlantCache::kLru);
    if (kind == Kind::kHpa) {
      sizer = [hpa = FillAutoscaler(d)](const CapacityObservation& o) mutable {
        return hpa.Decide(o);
      };
    } else if (kind == Kind::kHill) {
      sizer = [hill = HillClimber(d)](const CapacityObservation& o) mutable {
        return hill.Decide(o);
      };
    }
    runs.push_back(RunSizer(options, knee, sizer));
  }
  return runs;
}

template <typename Value>
std::vector<double> Each(const std::vector<Run>& runs, Value value) {
  std::vector<double> out;
  for (const Run& run : runs) out.push_back(value(run));
  return out;
}

double EpochsToBand(const Run& run) {
  return run.in_band.has_value() ? static_cast<double>(*run.in_band) : static_cast<double>(kEpochs);
}

void AddConvergence(std::vector<PolicyFigure>& figures, const std::vector<Run>& runs, double sigma,
                    double epochs) {
  const auto to_band = Each(runs, EpochsToBand);
  const auto speed = Each(runs, [](const Run& r) { return r.speed; });
  const auto over = Each(runs, [](const Run& r) { return r.capacity - r.knee; });
  const std::string note = fmt::format("{} runs, b/f* .10 to .95; median {:g}, worst {:g}",
                                       runs.size(), Median(to_band), Quantile(to_band, 1));
  figures.push_back(
      {"capacity",
       fmt::format("within .10 d of the knee, sigma {:.2f}: epochs, 95th percentile", sigma),
       Quantile(to_band, 0.95), "epochs", epochs, false, note});
  figures.push_back(
      {"capacity", fmt::format("speed / f*, sigma {:.2f}: 5th percentile", sigma),
       Quantile(speed, 0.05), "ratio", 0.93, true,
       fmt::format("median {:.3f}; capacity over the knee: {:+.3f} d in the median, "
                   "{:+.3f} to {:+.3f} from the 5th to the 95th percentile",
                   Median(speed), Median(over), Quantile(over, 0.05), Quantile(over, 0.95))});
}

void AddBaselines(std::vector<PolicyFigure>& figures, const FigureEffort& effort) {
  struct {
    Kind kind;
    const char* name;
  } const baselines[] = {{Kind::kHpa, "autoscaler by fill percentage"},
                         {Kind::kHill, "5%-gain hill climber"}};
  for (const auto& baseline : baselines) {
    const auto runs = RunMany(effort, 0.05, PlantCache::kUniform, baseline.kind);
    const auto speed = Each(runs, [](const Run& r) { return r.speed; });
    const auto over = Each(runs, [](const Run& r) { return r.capacity - r.knee; });
    figures.push_back({"capacity",
                       fmt::format("baseline {}: speed / f*, 5th percentile", baseline.name),
                       Quantile(speed, 0.05), "ratio", std::nullopt, true,
                       fmt::format("median {:.3f}; capacity over the knee: {:+.3f} d in the median",
                                   Median(speed), Median(over))});
  }
}

// Hit ratio of an LRU cache of `share` of the dataset over shuffled epochs.
double LruHitRatio(double share, uint64_t seed) {
  PlantOptions options;
  options.cache = PlantCache::kLru;
  options.seed = seed;
  options.sigma = 0;
  options.miss_speed = options.full_speed;
  CapacityPlant plant(options);
  double hits = 0, reads = 0;
  while (plant.epoch() < 7) {
    const bool warm = plant.epoch() >= 1;
    const CapacityObservation seen = plant.Run(share * static_cast<double>(options.items), 1);
    if (!warm) continue;
    hits += seen.hit_ratio * plant.speed();
    reads += plant.speed();
  }
  return hits / reads;
}

}  // namespace

std::vector<PolicyFigure> CapacityFigures(const FigureEffort& effort) {
  std::vector<PolicyFigure> figures;
  AddConvergence(figures, RunMany(effort, 0.05, PlantCache::kUniform, Kind::kController), 0.05, 2);
  AddConvergence(figures, RunMany(effort, 0.10, PlantCache::kUniform, Kind::kController), 0.10, 5);
  const auto bound = Each(RunMany(effort, 0.05, PlantCache::kUniform, Kind::kController, true),
                          [](const Run& r) { return r.capacity; });
  figures.push_back(
      {"capacity", "job bound by preparation: mean capacity / d, 95th percentile",
       Quantile(bound, 0.95), "ratio", 0.05, false,
       fmt::format("workers prepare .4 f*, storage gives .5 f*, second half of {} epochs; "
                   "median {:.3f}",
                   kEpochs, Median(bound))});
  double worst = 0;
  for (double share : {0.25, 0.5, 0.75, 0.95}) {
    worst = std::max(worst, std::abs(LruHitRatio(share, effort.seed) -
                                     (share + (1 - share) * std::log(1 - share))));
  }
  figures.push_back({"capacity",
                     "LRU over shuffled epochs: |hit ratio - (x + (1-x) ln(1-x))|, worst", worst,
                     "hit ratio", 0.02, false, "x = .25, .5, .75, .95; 4,000 items"});
  const auto lru = RunMany(effort, 0.05, PlantCache::kLru, Kind::kController);
  figures.push_back({"capacity", "over an LRU cache with its hit curve: speed / f*, 5th percentile",
                     Quantile(Each(lru, [](const Run& r) { return r.speed; }), 0.05), "ratio",
                     std::nullopt, true, "for comparison: the service's caches are not LRU"});
  AddBaselines(figures, effort);
  return figures;
}

std::vector<Series> CapacitySeries(const FigureEffort& effort) {
  PlantOptions options;
  options.seed = effort.seed;
  options.miss_speed = 0.45 * options.full_speed;
  const auto d = static_cast<double>(options.items);
  const double seconds = d / options.full_speed / kPeriodsPerEpoch;
  std::vector<Series> series;
  const auto add = [&](const char* name, const Sizer& sizer) {
    Series line{"capacity: one run, knee at .55 d", name, "periods", "capacity / d", {}, {}};
    CapacityPlant plant(options);
    double capacity = d / 64;
    while (plant.epoch() < 8) {
      line.xs.push_back(static_cast<double>(line.xs.size()));
      line.ys.push_back(capacity / d);
      capacity = sizer(plant.Run(capacity, seconds));
    }
    series.push_back(std::move(line));
  };
  add("Headrace", ControllerSizer(false));
  add("autoscaler by fill",
      [hpa = FillAutoscaler(d)](const CapacityObservation& o) mutable { return hpa.Decide(o); });
  add("5%-gain hill climber",
      [hill = HillClimber(d)](const CapacityObservation& o) mutable { return hill.Decide(o); });
  add("knee", [&](const CapacityObservation&) { return 0.55 * d; });
  return series;
}

}  // namespace headrace::orchestrate
