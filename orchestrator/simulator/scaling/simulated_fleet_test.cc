#include "orchestrator/simulator/scaling/simulated_fleet.h"

#include "gtest/gtest.h"
#include "orchestrator/simulator/scaling/contest.h"

namespace headrace::orchestrate {
namespace {

ScalingTrace OneJob(double demand, double rate) {
  ScalingTrace trace;
  trace.seconds = 1000;
  trace.worker_start_seconds = 5;
  trace.jobs = {{.name = "a", .demand = demand, .worker_rate = rate, .ends = 1000}};
  return trace;
}

TEST(SimulatedFleetTest, TrainersTakeWhatWorkersMakeAndNoMoreThanTheyCan) {
  const ScalingTrace trace = OneJob(100, 10);
  SimulatedFleet fleet(trace, SimulatedFleet::Layout::kShared);
  fleet.Step();
  EXPECT_DOUBLE_EQ(fleet.jobs()[0].taken, 10);
  EXPECT_DOUBLE_EQ(fleet.jobs()[0].stall, 0.9);
  fleet.SetWorkers(0, 12);
  for (int i = 0; i < 60; ++i) fleet.Step();
  EXPECT_DOUBLE_EQ(fleet.jobs()[0].taken, 100);
  EXPECT_DOUBLE_EQ(fleet.jobs()[0].stall, 0);
  EXPECT_DOUBLE_EQ(fleet.jobs()[0].fill, 1);
  EXPECT_DOUBLE_EQ(fleet.jobs()[0].busy_workers, 10);
  EXPECT_EQ(fleet.CheapestWorkers(), 10u);
}

TEST(SimulatedFleetTest, WorkersTakeTheirTimeToStartAndPreemptedOnesAreReplaced) {
  ScalingTrace trace = OneJob(100, 10);
  trace.preemptions = {{.at = 20, .which = 0.5}};
  SimulatedFleet fleet(trace, SimulatedFleet::Layout::kShared);
  fleet.SetWorkers(0, 10);
  fleet.Step();
  EXPECT_EQ(fleet.ready(0), 1u);
  EXPECT_EQ(fleet.paid(), 10u);
  while (fleet.now() < 20) fleet.Step();
  EXPECT_EQ(fleet.ready(0), 10u);
  fleet.Step();
  EXPECT_EQ(fleet.ready(0), 9u);
  EXPECT_EQ(fleet.lost(), 1u);
  EXPECT_DOUBLE_EQ(fleet.Cost(), fleet.LeastCost());  // whoever scales has nothing to do with it
  while (fleet.now() < 30) fleet.Step();
  EXPECT_EQ(fleet.ready(0), 10u);
}

TEST(ScalingTraceTest, TheSeedSaysAll) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const ScalingTrace a = MakeScalingTrace(seed, 7200);
    const ScalingTrace b = MakeScalingTrace(seed, 7200);
    EXPECT_EQ(a.jobs[0].demand, b.jobs[0].demand);
    EXPECT_EQ(a.Changes(), b.Changes());
  }
}

TEST(ContestTest, OneWhoNeverScalesPaysForItInStalls) {
  struct Nothing {};
  const Contestant idle{"idle",
                        SimulatedFleet::Layout::kShared,
                        {.seconds = 10},
                        [](const ScalingTrace&) -> std::unique_ptr<Policy> {
                          return MakePolicy<Nothing, Nothing>(
                              "idle", {}, [](const Nothing&, const Observation&, Nothing&) {
                                return std::vector<Decision>{{"idle", {}, "idle", {}}};
                              });
                        }};
  const Score score = Compete(idle, OneJob(100, 10));
  EXPECT_NEAR(score.stall_seconds, 900, 1);
  EXPECT_EQ(score.worker_seconds_wasted, 0);
  EXPECT_EQ(score.reached, 0u);
  EXPECT_EQ(score.segments, 1u);
  EXPECT_NEAR(score.windows_to_cheapest, 100, 1);
}

}  // namespace
}  // namespace headrace::orchestrate
