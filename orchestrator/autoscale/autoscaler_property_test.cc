// What holds for any observations in any order, made-up nonsense included.
#include <cmath>
#include <random>

#include "gtest/gtest.h"
#include "orchestrator/autoscale/autoscaler.h"
#include "orchestrator/autoscale/test_cluster.h"

namespace headrace::orchestrate {
namespace {

class Draws {
 public:
  explicit Draws(uint64_t seed) : rng_(seed) {}
  double Uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(rng_);
  }
  bool Chance(double p) { return Uniform(0, 1) < p; }
  size_t Below(size_t n) { return rng_() % n; }

 private:
  std::mt19937_64 rng_;
};

Observation Nonsense(Draws& draws, size_t wanted) {
  Observation seen;
  seen.window_seconds = draws.Chance(0.05) ? 0.001 : draws.Uniform(1, 20);
  seen.workers_wanted = wanted;
  seen.workers_lost = draws.Below(3);
  for (size_t i = 0; i < draws.Below(5); ++i) {
    JobObservation job;
    job.job = i;
    job.name = std::string(1, static_cast<char>('a' + draws.Below(6)));
    job.clients = draws.Below(3);
    job.connected = job.clients;
    job.weight = draws.Uniform(-1, 5);
    job.priority = static_cast<int>(draws.Below(4)) - 1;
    job.min_workers = draws.Chance(0.2) ? draws.Uniform(0, 4) : 0;
    job.max_workers = draws.Chance(0.2) ? draws.Uniform(0, 9) : 0;
    job.elements_per_second = draws.Chance(0.2) ? 0 : draws.Uniform(0, 1e4);
    if (draws.Chance(0.8)) job.demand = draws.Chance(0.1) ? 0 : draws.Uniform(0, 1e5);
    if (draws.Chance(0.8)) job.stall = draws.Uniform(0, 1);
    job.queue_fill = draws.Uniform(0, 1);
    job.busy_seconds = draws.Chance(0.2) ? 0 : draws.Uniform(0, 1e3);
    seen.jobs.push_back(job);
  }
  const size_t live = draws.Chance(0.5) ? wanted : draws.Below(20);
  for (size_t i = 0; i < live; ++i) {
    WorkerObservation worker;
    worker.worker = i + 1;
    worker.cores = static_cast<double>(draws.Below(5));
    if (draws.Chance(0.8)) worker.busy = draws.Uniform(0, 1);
    if (draws.Chance(0.1)) worker.condition = WorkerCondition::kDraining;
    seen.workers.push_back(worker);
  }
  return seen;
}

TEST(AutoscalerPropertyTest, WhateverItSeesItKeepsItsBoundsAndGivesAReason) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Draws draws(seed);
    AutoscaleOptions options;
    options.min_workers = draws.Below(4);
    options.max_workers = options.min_workers + 1 + draws.Below(40);
    AutoscaleState state;
    size_t wanted = draws.Below(10);
    for (int window = 0; window < 100; ++window) {
      const auto decisions = DecideWorkers(options, Nonsense(draws, wanted), state);
      ASSERT_FALSE(decisions.empty());
      for (const Decision& decision : decisions) {
        ASSERT_FALSE(decision.reason.empty());
        for (const auto& [name, value] : decision.numbers)
          ASSERT_TRUE(std::isfinite(value)) << name << " in " << decision.reason;
      }
      const Action& action = decisions.front().action;
      if (action.verb != Verb::kSetWorkers) {
        ASSERT_EQ(action.verb, Verb::kHold);
        continue;
      }
      ASSERT_GE(action.amount, static_cast<double>(options.min_workers));
      ASSERT_LE(action.amount, static_cast<double>(options.max_workers));
      ASSERT_NE(action.amount, static_cast<double>(wanted));  // a change changes something
      wanted = static_cast<size_t>(action.amount);
    }
  }
}

TEST(AutoscalerPropertyTest, TheSameObservationsGiveTheSameDecisions) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<std::string> lines[2];
    for (std::vector<std::string>& said : lines) {
      Draws draws(seed);
      AutoscaleState state;
      for (int window = 0; window < 100; ++window) {
        for (const Decision& decision : DecideWorkers({}, Nonsense(draws, 4), state))
          said.push_back(ToLine(decision));
      }
    }
    ASSERT_EQ(lines[0], lines[1]);
  }
}

// Without noise: reached within a few windows, and then calm for ever.
TEST(AutoscalerPropertyTest, AnySteadyClusterComesToRestNearTheCheapestFleet) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Draws draws(seed);
    AutoscaleOptions options;
    options.max_workers = 300;
    options.prices = {.trainer = draws.Uniform(5, 60), .worker = 1};
    TestCluster cluster;
    Fleet fleet{.prices = options.prices, .least = 1, .most = 300};
    for (size_t i = 0; i < 1 + draws.Below(3); ++i) {
      TestJob job{.name = std::string(1, static_cast<char>('a' + i)),
                  .demand = draws.Uniform(10, 200)};
      job.rate = job.demand / draws.Uniform(1, 40);
      job.busy_limit = draws.Uniform(0.5, 1);
      cluster.jobs.push_back(job);
      fleet.jobs.push_back({.demand = job.demand, .worker_rate = job.rate});
    }
    AutoscaleState state;
    cluster.Windows(30, options, state);
    const double cheapest = Cost(fleet, static_cast<double>(CheapestFleet(fleet)));
    ASSERT_LE(Cost(fleet, static_cast<double>(cluster.workers)), 1.05 * cheapest)
        << "seed " << seed << ": " << cluster.workers << " workers instead of "
        << CheapestFleet(fleet) << "; " << cluster.last.reason;
    const int changes = cluster.changes;
    cluster.Windows(300, options, state);
    // What was too few is tried again after 32 windows, 64, 128: down and up each time.
    ASSERT_LE(cluster.changes - changes, 6) << "seed " << seed;
  }
}

}  // namespace
}  // namespace headrace::orchestrate
