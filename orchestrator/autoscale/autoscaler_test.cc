#include "orchestrator/autoscale/autoscaler.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "orchestrator/autoscale/test_cluster.h"

namespace headrace::orchestrate {
namespace {

using ::testing::StartsWith;

class AutoscalerTest : public ::testing::Test {
 protected:
  // Windows go by; what is decided is carried out at once.
  void Windows(int n) { cluster_.Windows(n, options_, state_); }

  AutoscaleOptions options_;
  AutoscaleState state_;
  TestCluster cluster_;
};

TEST_F(AutoscalerTest, ItJumpsToTheCheapestFleetAndStays) {
  cluster_.jobs = {{.name = "a", .demand = 200, .rate = 10}};
  Windows(1);
  EXPECT_GE(cluster_.workers, 20u);  // what one window says is not exact: rather one too many
  EXPECT_LE(cluster_.workers, 22u);
  Windows(100);
  EXPECT_EQ(cluster_.workers, 20u);
  EXPECT_LE(cluster_.changes, 3);
  EXPECT_EQ(cluster_.first.action.verb, Verb::kSetWorkers);
  EXPECT_THAT(cluster_.first.reason,
              StartsWith("job 'a' waits 95% of the time; job 'a' takes 200/s and a worker makes "
                         "10/s (1 -> 2"));
  EXPECT_NEAR(NumberOf(cluster_.first, "need"), 20, 1e-9);
}

TEST_F(AutoscalerTest, LessDemandShrinksTheFleet) {
  cluster_.jobs = {{.name = "a", .demand = 200, .rate = 10}};
  Windows(10);
  cluster_.jobs[0].demand = 50;
  Windows(3);
  EXPECT_LE(cluster_.workers, 6u);
  Windows(30);
  EXPECT_EQ(cluster_.workers, 5u);
}

TEST_F(AutoscalerTest, MoreDemandIsMetInTheWindowAfter) {
  cluster_.jobs = {{.name = "a", .demand = 50, .rate = 10}};
  Windows(20);
  EXPECT_EQ(cluster_.workers, 5u);
  cluster_.jobs[0].demand = 200;
  Windows(1);
  EXPECT_GT(cluster_.workers, 12u);
  Windows(3);
  EXPECT_EQ(cluster_.workers, 20u);
}

TEST_F(AutoscalerTest, OneOddWindowMovesNothing) {
  cluster_.jobs = {{.name = "a", .demand = 50, .rate = 10}};
  Windows(20);
  Observation odd = cluster_.Observe();
  odd.jobs[0].stall = 0.6;
  odd.jobs[0].elements_per_second = 20;
  odd.jobs[0].busy_seconds = 20;
  odd.jobs[0].queue_fill = 0;
  EXPECT_EQ(DecideWorkers(options_, odd, state_).front().action.verb, Verb::kHold);
  Windows(30);
  EXPECT_EQ(cluster_.workers, 5u);
}

TEST_F(AutoscalerTest, APreemptedWorkerIsNoReasonToScale) {
  cluster_.jobs = {{.name = "a", .demand = 100, .rate = 10}};
  Windows(20);
  ASSERT_EQ(cluster_.workers, 10u);
  for (int window = 0; window < 30; ++window) {
    Observation seen = cluster_.ObserveWith(7);
    seen.workers_wanted = 10;
    seen.workers_lost = window == 0 ? 3 : 0;
    const Decision decision = DecideWorkers(options_, seen, state_).front();
    EXPECT_EQ(decision.action.verb, Verb::kHold) << decision.reason;
  }
  Windows(10);
  EXPECT_EQ(cluster_.workers, 10u);
}

TEST_F(AutoscalerTest, WithoutJobsItGoesToTheLeastAndComesBackForOne) {
  options_.min_workers = 0;
  cluster_.jobs = {{.name = "a", .demand = 100, .rate = 10}};
  Windows(10);
  const TestJob job = cluster_.jobs[0];
  cluster_.jobs.clear();
  Windows(5);
  EXPECT_EQ(cluster_.workers, 10u);
  Windows(3);
  EXPECT_EQ(cluster_.workers, 0u);
  cluster_.jobs = {job};
  Windows(1);
  EXPECT_EQ(cluster_.workers, 10u);  // it was seen before
}

TEST_F(AutoscalerTest, AnEvaluationBetweenEpochsIsWaitedOutLonger) {
  cluster_.jobs = {{.name = "a", .demand = 100, .rate = 10}};
  Windows(10);
  cluster_.jobs[0].reads = false;
  Windows(50);
  EXPECT_EQ(cluster_.workers, 10u);
  Windows(15);
  EXPECT_EQ(cluster_.workers, 1u);
}

TEST_F(AutoscalerTest, ASharedLimitStopsTheGrowth) {
  cluster_.jobs = {{.name = "a", .demand = 200, .rate = 10, .ceiling = 60}};
  Windows(25);
  EXPECT_LE(cluster_.workers, 20u);
  const size_t settled = cluster_.workers;
  Windows(5);
  EXPECT_EQ(cluster_.workers, settled);
  EXPECT_NE(cluster_.last.reason.find("more workers did not help"), std::string::npos)
      << cluster_.last.reason;
}

TEST_F(AutoscalerTest, WorkThatWaitsForOtherThingsIsKnownByWhatWorkersMakeAtMost) {
  cluster_.jobs = {{.name = "a", .demand = 100, .rate = 10, .busy_limit = 0.3}};
  Windows(30);
  EXPECT_EQ(cluster_.workers, 10u);
}

TEST_F(AutoscalerTest, AFleetThatIsTooSmallIsSharedByWeightAndPriority) {
  options_.max_workers = 6;
  cluster_.jobs = {{.name = "a", .demand = 100, .rate = 10},
                   {.name = "b", .demand = 100, .rate = 10, .weight = 2}};
  Windows(10);
  EXPECT_EQ(cluster_.workers, 6u);
  ASSERT_EQ(cluster_.shares.size(), 2u);
  EXPECT_NEAR(cluster_.shares["a"], 2, 0.01);
  EXPECT_NEAR(cluster_.shares["b"], 4, 0.01);
  cluster_.jobs[0].priority = 1;
  Windows(1);
  EXPECT_NEAR(cluster_.shares["a"], 6, 0.01);
}

TEST_F(AutoscalerTest, AJobAtItsQuotaIsNoReasonForMore) {
  cluster_.jobs = {{.name = "a", .demand = 100, .rate = 10, .most = 4}};
  Windows(30);
  EXPECT_EQ(cluster_.workers, 4u);
}

TEST_F(AutoscalerTest, DearWorkersAreNotBoughtForALittleWaiting) {
  options_.prices = {.trainer = 2, .worker = 1};
  cluster_.jobs = {{.name = "a", .demand = 73, .rate = 10}};
  Windows(30);
  EXPECT_EQ(cluster_.workers, 7u);
  EXPECT_NE(cluster_.last.reason.find("cost more"), std::string::npos) << cluster_.last.reason;
}

TEST_F(AutoscalerTest, BoundsThatChangedAreObeyed) {
  cluster_.jobs = {{.name = "a", .demand = 100, .rate = 10}};
  Windows(5);
  options_.max_workers = 6;
  Windows(1);
  EXPECT_EQ(cluster_.workers, 6u);
  Windows(20);
  EXPECT_EQ(cluster_.workers, 6u);
}

}  // namespace
}  // namespace headrace::orchestrate
