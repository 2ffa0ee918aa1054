#include "orchestrator/placement/cost_model.h"

#include "gtest/gtest.h"
#include "orchestrator/seeded_random.h"

namespace headrace::orchestrate {
namespace {

JobProfile Job() {
  JobProfile job;
  job.job = "job";
  job.rows = 1e6;
  job.source_bytes = 100e3;
  StepProfile decode, resize;
  decode.name = "decode";
  decode.cpu_seconds = 8e-3;
  decode.bytes_out = 1e6;
  resize.name = "resize";
  resize.cpu_seconds = 1e-3;
  resize.bytes_out = 200e3;
  job.steps = {decode, resize};
  job.epochs_left = 10;
  job.demand = 5000;
  job.trainer_price = 1;
  return job;
}

ClusterProfile Cluster() {
  ClusterProfile cluster;
  TierProfile memory;
  memory.name = "memory";
  memory.read_bytes_per_second = 1e9;
  memory.write_bytes_per_second = 1e9;
  memory.capacity_bytes = 1e12;
  cluster.tiers = {memory};
  cluster.source_bytes_per_second = 1e9;
  cluster.worker_cores = 10;
  cluster.efficiency = 0.9;
  cluster.network_bytes_per_second = 1e9;
  cluster.worker_price = 0.01;
  return cluster;
}

TEST(CostModelTest, ARateIsABottleneckNotASum) {
  const EpochPrediction none = PredictEpochWith(Job(), Cluster(), {}, 2);
  EXPECT_DOUBLE_EQ(none.rows_per_second, 2 * 9 / 9e-3);
  EXPECT_EQ(none.bottleneck, Bottleneck::kCpu);
  // Cut 1: 1 MB a row from 1 GB/s.
  const EpochPrediction decoded =
      PredictEpochWith(Job(), Cluster(), {.choice = CacheChoice{1, 0, 1}}, 2);
  EXPECT_DOUBLE_EQ(decoded.rows_per_second, 1000);
  EXPECT_EQ(decoded.bottleneck, Bottleneck::kTier);
  const EpochPrediction resized =
      PredictEpochWith(Job(), Cluster(), {.choice = CacheChoice{2, 0, 1}}, 2);
  EXPECT_DOUBLE_EQ(resized.rows_per_second, 5000);
  EXPECT_EQ(resized.bottleneck, Bottleneck::kTrainer);
}

TEST(CostModelTest, APartialCacheMixesBothWays) {
  const EpochPrediction half =
      PredictEpochWith(Job(), Cluster(), {.choice = CacheChoice{2, 0, 0.5}}, 2);
  EXPECT_DOUBLE_EQ(half.rows_per_second, 2 * 9 / 4.5e-3);
}

TEST(CostModelTest, BuildingIsHeldBackByWrites) {
  ClusterProfile cluster = Cluster();
  cluster.tiers[0].write_bytes_per_second = 100e6;
  const EpochPrediction building =
      PredictEpochWith(Job(), cluster, {.choice = CacheChoice{2, 0, 1}, .building = true}, 2);
  EXPECT_DOUBLE_EQ(building.rows_per_second, 500);
  EXPECT_EQ(building.bottleneck, Bottleneck::kTierWrite);
}

TEST(CostModelTest, TheChosenNumberOfWorkersIsTheCheapestOfAll) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    SeededRandom random(seed);
    JobProfile job = Job();
    job.demand = random.LogUniform(10, 1e6);
    job.trainer_price = random.Chance(0.1) ? 0 : random.LogUniform(0.01, 10);
    ClusterProfile cluster = Cluster();
    cluster.source_bytes_per_second = random.LogUniform(1e6, 1e11);
    cluster.worker_price = random.Chance(0.1) ? 0 : random.LogUniform(0.001, 1);
    cluster.min_workers = 1 + static_cast<int>(random.Below(4));
    cluster.max_workers = cluster.min_workers + static_cast<int>(random.Below(40));
    EpochQuestion question;
    if (random.Chance(0.7))
      question.choice = CacheChoice{random.Below(3), 0, random.Uniform(0.01, 1)};
    const EpochPrediction chosen = PredictEpoch(job, cluster, question);
    for (int workers = cluster.min_workers; workers <= cluster.max_workers; ++workers) {
      ASSERT_LE(chosen.cost, PredictEpochWith(job, cluster, question, workers).cost * (1 + 1e-12))
          << seed;
    }
  }
}

}  // namespace
}  // namespace headrace::orchestrate
