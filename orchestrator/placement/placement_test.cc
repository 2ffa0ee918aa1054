#include "orchestrator/placement/placement.h"

#include <cmath>

#include "gtest/gtest.h"

namespace headrace::orchestrate {
namespace {

constexpr double kHour = 3600;

StepProfile Step(std::string name, double cpu, double bytes) {
  StepProfile step;
  step.name = std::move(name);
  step.cpu_seconds = cpu;
  step.bytes_out = bytes;
  step.rows_measured = 2000;
  step.cpu_variance = cpu * cpu;
  return step;
}

// 128 GB of photographs that wait for CPU: the resized ones are 256 GB.
PlacementQuestion Photographs() {
  JobProfile job;
  job.job = "photographs";
  job.rows = 1.28e6;
  job.source_bytes = 100e3;
  job.steps = {Step("decode_image", 6e-3, 900e3), Step("resize", 1.5e-3, 200e3),
               Step("random_crop", 0.3e-3, 150e3), Step("normalize", 0.2e-3, 600e3)};
  job.steps[2].random = true;
  job.prefix_keys = {1, 2, 3, 4, 5};
  job.epochs_left = 90;
  job.demand = 12000;
  job.demand_error = 0.02;
  job.trainer_price = 25 / kHour;
  PlacementQuestion question;
  question.jobs = {job};
  TierProfile disk;
  disk.name = "disk";
  disk.kind = TierKind::kDisk;
  disk.read_bytes_per_second = 2e9;
  disk.write_bytes_per_second = 1e9;
  disk.bandwidth_error = 0.05;
  disk.per_worker = true;
  disk.capacity_bytes = 2e12;
  disk.price_per_byte_second = 4e-17;
  disk.read_cpu_seconds = 10e-6;
  question.cluster.tiers = {disk};
  question.cluster.source_bytes_per_second = 1e9;
  question.cluster.worker_cores = 8;
  question.cluster.network_bytes_per_second = 2e9;
  question.cluster.worker_price = 0.4 / kHour;
  question.cluster.max_workers = 8;
  return question;
}

TEST(PlacementTest, AJobThatWaitsIsCachedBehindItsLastLegalStep) {
  const PlacementDecision decision = DecidePlacement(Photographs());
  ASSERT_TRUE(decision.jobs[0].choice.has_value()) << decision.jobs[0].reason;
  EXPECT_EQ(decision.jobs[0].choice->cut, 2u);
  EXPECT_GE(decision.jobs[0].choice->share, 0.5);  // more would be faster than the trainer
  EXPECT_LT(decision.cost, 0.7 * decision.cost_without);
  EXPECT_NE(decision.jobs[0].reason.find("rows after step resize in disk saves"), std::string::npos)
      << decision.jobs[0].reason;
}

TEST(PlacementTest, NeverCachesForAJobBoundByItsAccelerator) {
  for (double demand : {5.0, 200.0, 790.0}) {  // one worker makes 899 rows/s
    PlacementQuestion question = Photographs();
    question.jobs[0].demand = demand;
    const PlacementDecision decision = DecidePlacement(question);
    EXPECT_FALSE(decision.jobs[0].choice.has_value()) << decision.jobs[0].reason;
    EXPECT_EQ(decision.jobs[0].without.bottleneck, Bottleneck::kTrainer);
  }
}

TEST(PlacementTest, NothingIsBuiltForOneEpoch) {
  PlacementQuestion question = Photographs();
  question.jobs[0].epochs_left = 1;
  const PlacementDecision decision = DecidePlacement(question);
  EXPECT_FALSE(decision.jobs[0].choice.has_value());
  EXPECT_NE(decision.jobs[0].reason.find("1 epochs are left"), std::string::npos)
      << decision.jobs[0].reason;
}

TEST(PlacementTest, ACacheThatIsThereIsReadForOneEpochToo) {
  PlacementQuestion question = Photographs();
  question.jobs[0].epochs_left = 1;
  question.existing = {{.key = 3, .tier = 0, .share = 1}};
  const PlacementDecision decision = DecidePlacement(question);
  ASSERT_TRUE(decision.jobs[0].choice.has_value()) << decision.jobs[0].reason;
  EXPECT_EQ(decision.jobs[0].choice->cut, 2u);
}

TEST(PlacementTest, ARandomCropIsNeverCachedThoughItsResultIsSmall) {
  PlacementQuestion question = Photographs();
  question.jobs[0].steps = {Step("decode_image", 6e-3, 900e3), Step("random_crop", 0.3e-3, 90e3),
                            Step("resize", 4e-3, 90e3)};
  question.jobs[0].steps[1].random = true;
  const PlacementDecision decision = DecidePlacement(question);
  for (const PlacementCandidate& candidate : decision.jobs[0].candidates) {
    if (candidate.choice.has_value()) {
      EXPECT_LE(candidate.choice->cut, 1u);
    }
  }
}

TEST(PlacementTest, TwoThatShareTheDecodeAloneShareItsCache) {
  PlacementQuestion question = Photographs();
  question.jobs[0].steps[1].bytes_out = 800e3;
  question.jobs.push_back(question.jobs[0]);
  question.jobs[1].job = "second";
  question.jobs[1].prefix_keys[2] = 99;
  question.cluster.tiers[0].capacity_bytes = 1.2e12;  // one of them fits, 1.15 TB
  const PlacementDecision decision = DecidePlacement(question);
  ASSERT_TRUE(decision.jobs[0].choice.has_value()) << decision.jobs[0].reason;
  ASSERT_TRUE(decision.jobs[1].choice.has_value()) << decision.jobs[1].reason;
  EXPECT_EQ(decision.jobs[0].choice->cut, 1u);
  EXPECT_EQ(*decision.jobs[0].choice, *decision.jobs[1].choice);
  EXPECT_NE(decision.jobs[0].reason.find("2 jobs"), std::string::npos) << decision.jobs[0].reason;
}

TEST(PlacementTest, ADatasetOfTwiceTheCapacityIsCachedInPart) {
  PlacementQuestion question = Photographs();
  question.cluster.tiers[0].capacity_bytes = 128e9;
  const PlacementDecision decision = DecidePlacement(question);
  ASSERT_TRUE(decision.jobs[0].choice.has_value()) << decision.jobs[0].reason;
  EXPECT_EQ(decision.jobs[0].choice->cut, 2u);
  EXPECT_NEAR(decision.jobs[0].choice->share, 0.5, 1e-9);
}

TEST(PlacementTest, ASlowTierIsNotUsedForRowsThatItCannotDeliver) {
  PlacementQuestion question = Photographs();
  question.cluster.tiers[0].per_worker = false;
  question.cluster.tiers[0].read_bytes_per_second = 20e6;
  question.cluster.tiers[0].write_bytes_per_second = 10e6;
  const PlacementDecision decision = DecidePlacement(question);
  EXPECT_FALSE(decision.jobs[0].choice.has_value()) << decision.jobs[0].reason;
}

TEST(PlacementTest, ASavingWithinTheNoiseIsNotAdopted) {
  PlacementQuestion question = Photographs();
  question.jobs[0].demand = 8000;  // eight workers make 7191
  const PlacementDecision sure = DecidePlacement(question);
  ASSERT_TRUE(sure.jobs[0].choice.has_value());
  question.jobs[0].steps[0].rows_measured = 4;  // known to a half
  const PlacementDecision unsure = DecidePlacement(question);
  EXPECT_FALSE(unsure.jobs[0].choice.has_value()) << unsure.jobs[0].reason;
  EXPECT_NE(unsure.jobs[0].reason.find("uncertain by"), std::string::npos);
}

TEST(PlacementTest, PlansThatDoNotFitCostInfinitelyMuch) {
  PlacementQuestion question = Photographs();
  question.cluster.tiers[0].capacity_bytes = 1e9;
  EXPECT_TRUE(std::isinf(PlanCost(question, {CacheChoice{2, 0, 1}})));
  EXPECT_FALSE(std::isinf(PlanCost(question, {std::nullopt})));
}

TEST(PlacementTest, ExplainsItsCandidatesAndWhatWasSeen) {
  const PlacementQuestion question = Photographs();
  const PlacementDecision decision = DecidePlacement(question);
  const std::string text = ExplainPlacement(question, decision.jobs[0], 9000);
  EXPECT_NE(text.find("rows after step resize in disk"), std::string::npos) << text;
  EXPECT_NE(text.find("no cache"), std::string::npos) << text;
  EXPECT_NE(text.find("observed 9000"), std::string::npos) << text;
}

}  // namespace
}  // namespace headrace::orchestrate
