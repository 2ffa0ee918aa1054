#include "orchestrator/simulator/scaling/trace.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace headrace::orchestrate {
namespace {

constexpr const char* kKinds[] = {"steady", "demand steps", "cost steps", "preemptions",
                                  "two jobs"};

class Draws {
 public:
  explicit Draws(uint64_t seed) : rng_(seed * 0x9E3779B97F4A7C15ull + 1) {}
  double Uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(rng_);
  }
  double LogUniform(double low, double high) {
    return std::exp(Uniform(std::log(low), std::log(high)));
  }
  uint64_t Below(uint64_t n) { return rng_() % n; }

 private:
  std::mt19937_64 rng_;
};

TraceJob MakeJob(Draws& draws, const std::string& name, double most_workers, double seconds) {
  TraceJob job;
  job.name = name;
  job.demand = draws.LogUniform(10, 50);
  job.worker_rate = job.demand / draws.LogUniform(1.5, most_workers);
  job.full_busy = draws.Uniform(0.7, 1.0);
  job.ends = seconds;
  return job;
}

// Up or down by 1.5 to 4.
double Factor(Draws& draws) {
  const double factor = draws.LogUniform(1.5, 4);
  return draws.Below(2) == 0 ? factor : 1 / factor;
}

}  // namespace

TraceJob ScalingTrace::JobAt(size_t job, double at) const {
  TraceJob now = jobs[job];
  for (const TraceStep& step : steps) {
    if (step.job != job || at < step.at) continue;
    now.demand *= step.demand_factor;
    now.worker_rate *= step.rate_factor;
  }
  if (at < now.begins || at >= now.ends) now.demand = 0;
  return now;
}

std::vector<double> ScalingTrace::Changes() const {
  std::vector<double> times = {0};
  for (const TraceStep& step : steps) times.push_back(step.at);
  for (const TraceJob& job : jobs) {
    if (job.begins > 0) times.push_back(job.begins);
    if (job.ends < seconds) times.push_back(job.ends);
  }
  std::ranges::sort(times);
  times.erase(std::unique(times.begin(), times.end()), times.end());
  return times;
}

ScalingTrace MakeScalingTrace(uint64_t seed, double seconds) {
  Draws draws(seed);
  ScalingTrace trace;
  trace.seed = seed;
  trace.kind = kKinds[seed % std::size(kKinds)];
  trace.noise = (seed / std::size(kKinds)) % 2 == 0 ? 0.05 : 0.10;
  trace.seconds = seconds;
  trace.prices = {.trainer = draws.LogUniform(8, 60), .worker = 1};
  trace.worker_start_seconds = draws.Uniform(5, 40);
  trace.spare_local = draws.Below(3);
  trace.most_workers = 200;
  trace.jobs.push_back(MakeJob(draws, "a", 40, seconds));
  const std::string& kind = trace.kind;
  if (kind == "demand steps" || kind == "cost steps") {
    double product = 1;
    for (double at : {0.3, 0.65}) {
      double factor = Factor(draws);
      if (product * factor > 4 || product * factor < 0.25) factor = 1 / factor;
      product *= factor;
      TraceStep step{.at = std::round(seconds * (at + draws.Uniform(-0.05, 0.05)))};
      (kind == "demand steps" ? step.demand_factor : step.rate_factor) = factor;
      trace.steps.push_back(step);
    }
  } else if (kind == "preemptions") {
    const uint64_t times = 3 + draws.Below(8);
    for (uint64_t i = 0; i < times; ++i)
      trace.preemptions.push_back({std::round(draws.Uniform(0, seconds)), draws.Uniform(0, 1)});
    std::ranges::sort(trace.preemptions, {}, &Preemption::at);
  } else if (kind == "two jobs") {
    TraceJob second = MakeJob(draws, "b", 20, seconds);
    second.begins = std::round(seconds * draws.Uniform(0.25, 0.4));
    second.ends = std::round(seconds * draws.Uniform(0.65, 0.8));
    trace.jobs.push_back(second);
  }
  return trace;
}

}  // namespace headrace::orchestrate
