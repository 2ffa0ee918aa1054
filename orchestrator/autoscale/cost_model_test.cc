#include "orchestrator/autoscale/cost_model.h"

#include <random>

#include "gtest/gtest.h"

namespace headrace::orchestrate {
namespace {

Fleet OneJob(double demand, double rate, Prices prices = {}) {
  Fleet fleet;
  fleet.prices = prices;
  fleet.most = 1000;
  fleet.jobs = {{.demand = demand, .worker_rate = rate}};
  return fleet;
}

TEST(CostModelTest, OneJobCostsWhatTheFormulaSays) {
  const Fleet fleet = OneJob(100, 10, {.trainer = 20, .worker = 1});
  for (double w : {1.0, 5.0, 9.0, 10.0, 12.0}) {
    const double longer = std::max(1.0, 100 / (10 * w));
    EXPECT_DOUBLE_EQ(Cost(fleet, w), longer * (20 + w)) << w;
  }
}

TEST(CostModelTest, DearTrainersNeverWaitAndDearWorkersAreFew) {
  EXPECT_EQ(CheapestFleet(OneJob(73, 10, {.trainer = 100, .worker = 1})), 8u);
  EXPECT_EQ(CheapestFleet(OneJob(73, 10, {.trainer = 1, .worker = 1})), 7u);
  EXPECT_EQ(CheapestFleet(OneJob(73, 10, {.trainer = 0, .worker = 1})), 1u);
}

TEST(CostModelTest, BeyondACeilingWorkersAreNotWorthTheirPrice) {
  Fleet fleet = OneJob(100, 10);
  fleet.jobs[0].ceiling = 40;
  EXPECT_EQ(CheapestFleet(fleet), 4u);
}

TEST(CostModelTest, BoundsAreKept) {
  Fleet fleet = OneJob(100, 10);
  fleet.most = 6;
  EXPECT_EQ(CheapestFleet(fleet), 6u);
  fleet.least = 12;
  fleet.most = 20;
  EXPECT_EQ(CheapestFleet(fleet), 12u);
  EXPECT_EQ(CheapestFleet({.least = 2, .most = 5}), 2u);
}

TEST(CostModelTest, WhatIsKeptForAJobIsNotMoreThanItNeeds) {
  Fleet fleet = OneJob(100, 10, {.trainer = 0, .worker = 1});
  fleet.jobs[0].claim.least = 4;
  EXPECT_EQ(CheapestFleet(fleet), 4u);
  fleet.jobs[0].claim.least = 40;
  EXPECT_EQ(CheapestFleet(fleet), 10u);
}

// Brute force over every number of workers, with the formula of the design written anew.
TEST(CostModelPropertyTest, NoNumberOfWorkersIsCheaper) {
  std::mt19937_64 rng(3);
  const auto uniform = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(rng);
  };
  for (int round = 0; round < 3000; ++round) {
    const double demand = uniform(1, 500);
    const double rate = uniform(1, 60);
    const Prices prices{.trainer = uniform(0.5, 60), .worker = uniform(0.2, 3)};
    const size_t chosen = CheapestFleet(OneJob(demand, rate, prices));
    const auto cost = [&](double w) {
      return (prices.trainer + w * prices.worker) / std::min(demand, w * rate);
    };
    for (double w = 1; w <= 600; ++w)
      ASSERT_LE(cost(static_cast<double>(chosen)), cost(w) * (1 + 1e-9)) << w;
  }
}

TEST(CostModelPropertyTest, MoreDemandNeverMakesTheFleetSmaller) {
  std::mt19937_64 rng(4);
  for (int round = 0; round < 300; ++round) {
    Fleet fleet = OneJob(0, std::uniform_real_distribution<double>(1, 20)(rng));
    fleet.jobs.push_back({.demand = 50, .worker_rate = 7});
    size_t before = 0;
    for (double demand = 1; demand < 200; demand *= 1.1) {
      fleet.jobs[0].demand = demand;
      const size_t now = CheapestFleet(fleet);
      ASSERT_GE(now + 1, before);  // a shared fleet's last fraction may round either way
      before = now;
    }
  }
}

}  // namespace
}  // namespace headrace::orchestrate
