// What jobs may claim of the workers: weight, priority, least_workers, most_workers.
#include "dispatcher/ops/claim.h"

#include <gmock/gmock.h>

#include <limits>
#include <set>
#include <vector>

#include "dispatcher/test_bed.h"

namespace headrace {
namespace {

using testing::HasSubstr;

class ClaimTest : public DispatcherBed {
 protected:
  absl::Status Refusal() { return Twice(&DispatcherService::OpenJob, OpenRequest("")).status(); }
  // Of the tasks that a worker runs.
  size_t Tasks(TestWorker& worker) { return TasksOf(worker).size(); }
};

TEST_F(ClaimTest, WhatIsOutOfBoundsIsNamed) {
  options.set_priority(9);
  EXPECT_THAT(Refusal().ToString(), HasSubstr("priority is 9: it must be -8 to 8"));
  options.set_priority(std::numeric_limits<int32_t>::min());
  EXPECT_THAT(Refusal().ToString(), HasSubstr("priority is -2147483648"));
  options.set_priority(-8);
  options.set_weight(-1);
  EXPECT_THAT(Refusal().ToString(), HasSubstr("weight is -1"));
  options.set_weight(std::numeric_limits<double>::quiet_NaN());
  EXPECT_THAT(Refusal().ToString(), HasSubstr("weight is nan"));
  options.set_weight(2);
  options.set_least_workers(std::numeric_limits<double>::infinity());
  EXPECT_THAT(Refusal().ToString(), HasSubstr("least_workers is inf"));
  options.set_least_workers(3);
  options.set_most_workers(2);
  EXPECT_THAT(Refusal().ToString(), HasSubstr("least_workers is 3, over most_workers, which is 2"));
  EXPECT_EQ(Refusal().code(), absl::StatusCode::kInvalidArgument);
  options.set_most_workers(3);
  EXPECT_TRUE(Refusal().ok());
}

TEST_F(ClaimTest, WhatIsNotServedYetIsRefusedAndNotPassedOver) {
  options.set_sharing(true);
  EXPECT_THAT(Refusal().ToString(), HasSubstr("sharing is not served by this dispatcher"));
  options.clear_sharing();
  options.set_coordinated(true);
  EXPECT_THAT(Refusal().ToString(), HasSubstr("coordinated is not served by this dispatcher"));
}

TEST_F(ClaimTest, ARankThatClaimsOtherwiseIsRefusedWithTheDifference) {
  options.set_weight(1);
  Open();
  options.clear_weight();  // stands for 1
  Open();
  options.set_priority(2);
  EXPECT_THAT(Twice(&DispatcherService::OpenJob, OpenRequest()).status().ToString(),
              HasSubstr("priority is 2 here, 0 there"));
  options.clear_priority();
  options.set_most_workers(5);
  EXPECT_THAT(Twice(&DispatcherService::OpenJob, OpenRequest()).status().ToString(),
              HasSubstr("most_workers is 5 here, 0 there"));
}

TEST_F(ClaimTest, AHigherPriorityWeighsMoreThanAnyUsualWeightBelowIt) {
  v1::JobOptions low;
  low.set_weight(10);
  v1::JobOptions high;
  high.set_priority(1);
  EXPECT_DOUBLE_EQ(dispatch::EffectiveWeight(low), 10);
  EXPECT_DOUBLE_EQ(dispatch::EffectiveWeight(high), 64);
  high.set_weight(3);  // within a priority, by weight
  EXPECT_DOUBLE_EQ(dispatch::EffectiveWeight(high), 192);
}

TEST_F(ClaimTest, TheOrchestratorAndTheWorkersAreToldIt) {
  options.set_priority(1);
  options.set_weight(3);
  options.set_least_workers(1.5);
  options.set_most_workers(4);
  TestWorker worker = AddWorker("w");
  TestClient client = Open();
  ASSERT_TRUE(Start(client).ok());
  for (int life = 0; life < 2; ++life) {
    const auto fleet = service->ObserveFleet({});
    ASSERT_TRUE(fleet.ok());
    const v1::FleetJob& job = fleet->jobs(0);
    EXPECT_EQ(job.priority(), 1);
    EXPECT_EQ(job.weight(), 3);
    EXPECT_EQ(job.least_workers(), 1.5);
    EXPECT_EQ(job.most_workers(), 4u);
    EXPECT_DOUBLE_EQ(Beat(worker).start(0).weight(), 192);
    Restart();  // the journal has it
  }
}

TEST_F(ClaimTest, NoMoreWorkersThanTheQuotaWorkForAJob) {
  options.set_most_workers(2);
  std::vector<TestWorker> workers;
  for (const char* address : {"a", "b", "c", "d"}) workers.push_back(AddWorker(address));
  TestClient client = Open("first");
  ASSERT_TRUE(Start(client).ok());
  EXPECT_EQ(Tasks(workers[0]) + Tasks(workers[1]), 2u);
  EXPECT_EQ(Tasks(workers[2]) + Tasks(workers[3]), 0u);
  // Another job with a quota goes where nothing is done yet.
  TestClient other = Open("second");
  ASSERT_TRUE(Start(other).ok());
  for (TestWorker& worker : workers) EXPECT_EQ(Tasks(worker), 1u);
  // One without a quota goes everywhere.
  options.clear_most_workers();
  TestClient free = Open("third");
  ASSERT_TRUE(Start(free).ok());
  for (TestWorker& worker : workers) EXPECT_EQ(Tasks(worker), 2u);
}

TEST_F(ClaimTest, AWorkerThatIsKeptForAJobDoesNothingForOthers) {
  TestWorker own = AddWorker("own", 0, {"spare", "job=first"});
  TestClient other = Open("other");
  ASSERT_TRUE(Start(other).ok());
  EXPECT_EQ(Tasks(own), 0u);
  EXPECT_THAT(Beat(other).waiting(), HasSubstr("kept for other jobs"));
  TestWorker everybodys = AddWorker("everybody's");
  TestClient first = Open("first");
  ASSERT_TRUE(Start(first).ok());
  Restart();  // the journal has the tags
  EXPECT_EQ(Tasks(own), 1u);
  EXPECT_EQ(Tasks(everybodys), 2u);
}

TEST_F(ClaimTest, WhenAWorkerOfTheQuotaIsLostAnotherTakesItsPlace) {
  options.set_most_workers(1);
  TestWorker first = AddWorker("a");
  TestWorker second = AddWorker("b");
  TestClient client = Open();
  ASSERT_TRUE(Start(client).ok());
  EXPECT_EQ(Tasks(first), 1u);
  EXPECT_EQ(Tasks(second), 0u);
  Pass(config.worker_timeout + absl::Seconds(2), {&second}, {&client});
  EXPECT_EQ(Tasks(second), 1u);
}

TEST_F(ClaimTest, ADrainingWorkerCountsWhileItWorks) {
  options.set_most_workers(1);
  TestWorker first = AddWorker("a");
  TestWorker second = AddWorker("b");
  TestClient client = Open();
  ASSERT_TRUE(Start(client).ok());
  const uint64_t task = TasksOf(first).at(0);
  const v1::LeaseSplitsReply lease = Lease(first, task, 1);
  ASSERT_EQ(lease.leases_size(), 1);
  Beat(first, {}, {task}, {}, /*draining=*/true);
  EXPECT_EQ(Tasks(second), 0u);  // the first one still holds a split
  std::vector<v1::Run> all = {MakeRun(lease.leases(0).split().id(), 0, 10)};
  Beat(first, {ReadToEnd(task, lease.leases(0), 10, all)}, {task}, {}, /*draining=*/true);
  Pass(absl::Seconds(1), {&second}, {&client});
  EXPECT_EQ(Tasks(second), 1u);
}

TEST_F(ClaimTest, LanesOfAStaticJobShareTheQuotasWorkers) {
  options.set_most_workers(2);
  options.set_sharding(v1::SHARDING_STATIC_FILE);
  options.set_static_slots(4);
  std::vector<TestWorker> workers;
  for (const char* address : {"a", "b", "c"}) workers.push_back(AddWorker(address));
  TestClient client = Open();
  ASSERT_TRUE(Start(client).ok());
  std::multiset<size_t> tasks;
  for (TestWorker& worker : workers) tasks.insert(Tasks(worker));
  EXPECT_EQ(tasks, (std::multiset<size_t>{0, 2, 2}));
}

}  // namespace
}  // namespace headrace
