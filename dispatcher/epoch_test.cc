// Epochs: beginning, leases, retiring, the end; by every sharding policy.
#include <gmock/gmock.h>

#include "dispatcher/test_bed.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class EpochTest : public DispatcherBed {
 protected:
  // Leases and delivers all that `worker`'s task gets; each split has `records` records. Returns
  // how many splits.
  size_t Drink(TestWorker& worker, uint64_t task, TestClient& client, uint64_t records = 2) {
    size_t splits = 0;
    for (uint64_t number = 1;; ++number) {
      const v1::LeaseSplitsReply reply = Lease(worker, task, number, 3);
      if (reply.leases().empty()) return splits;
      for (const v1::Lease& lease : reply.leases()) {
        ++splits;
        Beat(worker, {ReadToEnd(task, lease, records)});
        if (records == 0) continue;
        Beat(client, task, {MakeRun(lease.split().id(), 0, records, 0, 1, lease.pass())});
      }
    }
  }
};

TEST_F(EpochTest, AnEpochEndsWhenAllIsDeliveredOrSettledAndTheNextBegins) {
  TestWorker worker = AddWorker("w:1");
  TestClient client = Open();
  const auto started = Start(client);
  ASSERT_TRUE(started.ok());
  ASSERT_THAT(started->tasks(), SizeIs(1));
  EXPECT_EQ(started->tasks(0).address(), "w:1");
  const uint64_t task = started->tasks(0).task();
  const v1::LeaseSplitsReply leased = Lease(worker, task, 1, 4);
  ASSERT_THAT(leased.leases(), SizeIs(4));
  std::vector<v1::SplitReport> reports;
  for (const v1::Lease& lease : leased.leases()) {
    reports.push_back(ReadToEnd(task, lease, 3, {MakeRun(lease.split().id(), 2, 1)}));
  }
  Beat(worker, reports);
  for (uint64_t split = 0; split < 3; ++split) {
    EXPECT_FALSE(Beat(client, task, {MakeRun(split, 0, 2)}).epoch_finished());
  }
  const v1::ClientBeatReply last = Beat(client, task, {MakeRun(3, 0, 2)});
  EXPECT_TRUE(last.epoch_finished());
  EXPECT_EQ(last.summary().delivered(), 8u);
  EXPECT_EQ(last.summary().settled(), 4u);
  EXPECT_THAT(Beat(worker, {}, {task}).stop(), ElementsAre(task));
  const auto next = Start(client, 1);
  ASSERT_TRUE(next.ok());
  EXPECT_THAT(next->tasks(), SizeIs(1));
  EXPECT_NE(next->tasks(0).task(), task);
  const v1::ObserveFleetReply fleet = service->ObserveFleet({}).value();
  EXPECT_EQ(fleet.jobs(0).epoch_records(), 12u);
  EXPECT_EQ(fleet.jobs(0).records_done(), 0u);
}

TEST_F(EpochTest, AnEpochMayNotBeginWhileTheLastOneRunsUnlessItIsGivenUp) {
  AddWorker("w:1");
  TestClient client = Open();
  ASSERT_TRUE(Start(client).ok());
  EXPECT_THAT(Start(client, 1).status().ToString(), HasSubstr("epoch 0 is not finished (4 splits"));
  v1::StartEpochRequest request;
  request.set_client(client.id);
  request.set_job(client.job);
  request.set_epoch(1);
  request.set_abandon_unfinished(true);
  EXPECT_TRUE(Twice(&DispatcherService::StartEpoch, request).ok());
  TestClient other = Open();
  ASSERT_TRUE(Start(other, 1).ok());
  request.set_epoch(2);
  EXPECT_THAT(service->StartEpoch(request).status().ToString(), HasSubstr("other clients read it"));
}

TEST_F(EpochTest, AnEpochThatWasLeftOutIsOverForEveryRankEachTimeItAsks) {
  Use({.splits = 0});
  AddWorker("w:1");
  TestClient fast = Open();
  TestClient slow = Open();
  ASSERT_TRUE(Start(fast, 2).ok());
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Start(slow, 1).status().code(), absl::StatusCode::kOutOfRange) << i;
  }
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(Start(slow, 2).ok()) << i;
  EXPECT_TRUE(Beat(slow).epoch_finished());
}

TEST_F(EpochTest, ARankThatComesTooLateFindsTheEpochOverAndGoesOn) {
  Use({.splits = 0});
  AddWorker("w:1");
  TestClient fast = Open();
  TestClient slow = Open();
  for (uint64_t epoch = 0; epoch < 3; ++epoch) {
    ASSERT_TRUE(Start(fast, epoch).ok());
    EXPECT_TRUE(Beat(fast).epoch_finished());
  }
  for (uint64_t epoch = 0; epoch < 3; ++epoch) {
    ASSERT_TRUE(Start(slow, epoch).ok()) << epoch;
    EXPECT_TRUE(Beat(slow).epoch_finished());
  }
  EXPECT_EQ(Start(slow, 1).status().code(), absl::StatusCode::kOutOfRange);
  TestClient fresh = Open();
  EXPECT_EQ(fresh.epoch, 3u);
  EXPECT_EQ(Start(fresh, 2).status().code(), absl::StatusCode::kOutOfRange);
}

TEST_F(EpochTest, NoSplitsAtAllIsOverAtOnce) {
  Use({.splits = 0});
  TestClient client = Open();
  ASSERT_TRUE(Start(client).ok());
  EXPECT_TRUE(Beat(client).epoch_finished());
}

TEST_F(EpochTest, FilesWithoutRecordsAreReadAndOver) {
  TestWorker worker = AddWorker("w:1");
  TestClient client = Open();
  ASSERT_TRUE(Start(client).ok());
  EXPECT_EQ(Drink(worker, TasksOf(worker).at(0), client, 0), 4u);
  EXPECT_TRUE(Beat(client).epoch_finished());
}

TEST_F(EpochTest, WithoutWorkersItWaitsAndSaysWhy) {
  TestClient client = Open();
  const auto started = Start(client);
  ASSERT_TRUE(started.ok());
  EXPECT_THAT(started->tasks(), IsEmpty());
  EXPECT_EQ(Beat(client).waiting(), "waiting for workers: none is registered");
  EXPECT_EQ(JobNamed().state(), "waiting");
  TestWorker worker = AddWorker("w:1");
  EXPECT_EQ(Beat(client).waiting(), "");
  EXPECT_THAT(Beat(client).tasks(), SizeIs(1));
  EXPECT_THAT(TasksOf(worker), SizeIs(1));
  EXPECT_EQ(JobNamed().state(), "running");
}

TEST_F(EpochTest, AWorkerThatJoinsInMidEpochGetsItsShare) {
  TestWorker first = AddWorker("w1:1");
  TestClient client = Open();
  ASSERT_TRUE(Start(client).ok());
  EXPECT_THAT(Lease(first, TasksOf(first).at(0), 1, 1).leases(), SizeIs(1));
  TestWorker second = AddWorker("w2:1");
  const uint64_t task = TasksOf(second).at(0);
  // Three are left for two tasks: not all of them.
  EXPECT_THAT(Lease(second, task, 1, 100).leases(), SizeIs(2));
}

TEST_F(EpochTest, LeaseNumbersOnlyGrowAndOldRequestsGetNothing) {
  TestWorker worker = AddWorker("w:1");
  TestClient client = Open();
  ASSERT_TRUE(Start(client).ok());
  const uint64_t task = TasksOf(worker).at(0);
  const uint64_t first = Lease(worker, task, 1).leases(0).number();
  EXPECT_EQ(Lease(worker, task, 1).leases(0).number(), first);
  EXPECT_GT(Lease(worker, task, 2).leases(0).number(), first);
  EXPECT_THAT(Lease(worker, task, 1).leases(), IsEmpty());
  EXPECT_TRUE(Lease(worker, 999, 1).unknown_task());
}

TEST_F(EpochTest, AnExhaustedTaskIsWokenWhenASplitComesBack) {
  Use({.splits = 1});
  TestWorker first = AddWorker("w1:1");
  TestWorker second = AddWorker("w2:1");
  TestClient client = Open();
  ASSERT_TRUE(Start(client).ok());
  const uint64_t busy = TasksOf(first).at(0);
  const uint64_t idle = TasksOf(second).at(0);
  EXPECT_THAT(Lease(first, busy, 1).leases(), SizeIs(1));
  EXPECT_TRUE(Lease(second, idle, 1).exhausted());
  EXPECT_THAT(Beat(second, {}, {idle}).wake(), IsEmpty());
  Pass(absl::Seconds(6), {&second}, {&client});
  Beat(client, 0, {}, {busy});
  EXPECT_THAT(Beat(second, {}, {idle}).wake(), ElementsAre(idle));
  EXPECT_THAT(Lease(second, idle, 2).leases(), SizeIs(1));
}

TEST_F(EpochTest, EveryPassCountsForItself) {
  Use({.splits = 2, .passes = 3});
  TestWorker worker = AddWorker("w:1");
  TestClient client = Open();
  ASSERT_TRUE(Start(client).ok());
  EXPECT_EQ(Drink(worker, TasksOf(worker).at(0), client), 6u);
  EXPECT_TRUE(Beat(client).epoch_finished());
  EXPECT_EQ(JobNamed().delivered(), 12u);
}

TEST_F(EpochTest, StaticWithMoreWorkersThanSlotsKeepsSpares) {
  options.set_sharding(v1::SHARDING_STATIC_FILE);
  options.set_static_slots(2);
  TestWorker a = AddWorker("a:1"), b = AddWorker("b:1"), c = AddWorker("c:1");
  TestClient client = Open();
  ASSERT_TRUE(Start(client).ok());
  EXPECT_THAT(TasksOf(a), SizeIs(1));
  EXPECT_THAT(TasksOf(b), SizeIs(1));
  EXPECT_THAT(TasksOf(c), IsEmpty());
  // A spare takes the slot of a lost worker, and only its part.
  const uint64_t lost = TasksOf(a).at(0);
  Pass(absl::Seconds(6), {&b, &c}, {&client});
  ASSERT_THAT(TasksOf(c), SizeIs(1));
  Beat(client, 0, {}, {lost});
  const v1::LeaseSplitsReply leased = Lease(c, TasksOf(c).at(0), 1, 10);
  ASSERT_THAT(leased.leases(), SizeIs(2));
  EXPECT_EQ(leased.leases(0).split().file_index(), 0u);
  EXPECT_EQ(leased.leases(1).split().file_index(), 2u);
}

TEST_F(EpochTest, StaticWithFewerWorkersThanSlotsGivesSomeSeveral) {
  options.set_sharding(v1::SHARDING_STATIC_FILE);
  options.set_static_slots(3);
  TestWorker a = AddWorker("a:1"), b = AddWorker("b:1");
  TestClient client = Open();
  ASSERT_TRUE(Start(client).ok());
  const auto tasks_a = TasksOf(a), tasks_b = TasksOf(b);
  EXPECT_THAT(tasks_a, SizeIs(2));
  EXPECT_THAT(tasks_b, SizeIs(1));
  size_t splits = 0;
  for (const uint64_t task : tasks_a) splits += Drink(a, task, client);
  for (const uint64_t task : tasks_b) splits += Drink(b, task, client);
  EXPECT_EQ(splits, 4u);
  EXPECT_TRUE(Beat(client).epoch_finished());
}

TEST_F(EpochTest, MoreSlotsThanFilesLeavesSomeEmptyByFileAndSharesRecordsByData) {
  Use({.splits = 1});
  options.set_static_slots(2);
  options.set_sharding(v1::SHARDING_STATIC_FILE);
  TestWorker a = AddWorker("a:1"), b = AddWorker("b:1");
  TestClient by_file = Open("file");
  ASSERT_TRUE(Start(by_file).ok());
  EXPECT_THAT(TasksOf(a), SizeIs(1));
  EXPECT_THAT(TasksOf(b), IsEmpty());  // its slot has no file

  options.set_sharding(v1::SHARDING_STATIC_FILE_OR_DATA);
  TestClient by_data = Open("data");
  ASSERT_TRUE(Start(by_data).ok());
  const v1::WorkerBeatReply reply = Beat(b);
  ASSERT_THAT(reply.start(), SizeIs(1));
  EXPECT_TRUE(reply.start(0).shard_by_record());
  EXPECT_EQ(reply.start(0).slots(), 2u);
  EXPECT_EQ(reply.start(0).slot(), 1u);
}

TEST_F(EpochTest, ByDataASlotsPartOfASplitIsRetiredAlone) {
  Use({.splits = 1});
  options.set_static_slots(2);
  options.set_sharding(v1::SHARDING_STATIC_DATA);
  TestWorker a = AddWorker("a:1"), b = AddWorker("b:1");
  TestClient client = Open();
  ASSERT_TRUE(Start(client).ok());
  const uint64_t even = TasksOf(a).at(0), odd = TasksOf(b).at(0);
  const v1::Lease even_lease = Lease(a, even, 1).leases(0), odd_lease = Lease(b, odd, 1).leases(0);
  Beat(a, {ReadToEnd(even, even_lease, 5)});
  Beat(b, {ReadToEnd(odd, odd_lease, 5)});
  Beat(client, even, {MakeRun(0, 0, 1), MakeRun(0, 2, 1), MakeRun(0, 4, 1)});
  EXPECT_EQ(JobNamed().splits_retired(), 1u);
  EXPECT_TRUE(Beat(client, odd, {MakeRun(0, 1, 1), MakeRun(0, 3, 1)}).epoch_finished());
}

TEST_F(EpochTest, OffEveryWorkerDeliversAllAndALostOneHoldsNobodyUp) {
  options.set_sharding(v1::SHARDING_OFF);
  TestWorker a = AddWorker("a:1"), b = AddWorker("b:1");
  TestClient client = Open();
  ASSERT_TRUE(Start(client).ok());
  EXPECT_EQ(Drink(a, TasksOf(a).at(0), client), 4u);
  EXPECT_FALSE(Beat(client).epoch_finished());
  Lease(b, TasksOf(b).at(0), 1);
  const uint64_t lost = TasksOf(b).at(0);
  Pass(absl::Seconds(6), {&a}, {&client});
  EXPECT_TRUE(Beat(client, 0, {}, {lost}).epoch_finished());
}

TEST_F(EpochTest, OffTwoWorkersDeliverTwice) {
  options.set_sharding(v1::SHARDING_OFF);
  TestWorker a = AddWorker("a:1"), b = AddWorker("b:1");
  TestClient client = Open();
  ASSERT_TRUE(Start(client).ok());
  EXPECT_EQ(Drink(a, TasksOf(a).at(0), client), 4u);
  EXPECT_EQ(Drink(b, TasksOf(b).at(0), client), 4u);
  EXPECT_TRUE(Beat(client).epoch_finished());
  EXPECT_EQ(JobNamed().delivered(), 16u);
}

TEST_F(EpochTest, TakeRunsAsOneTaskAndSettlesTheRest) {
  Use({.splits = 1000, .single_task = true});
  TestWorker a = AddWorker("a:1"), b = AddWorker("b:1");
  TestClient client = Open();
  ASSERT_TRUE(Start(client).ok());
  const auto tasks = TasksOf(a);
  ASSERT_THAT(tasks, SizeIs(1));
  EXPECT_THAT(TasksOf(b), IsEmpty());
  const v1::LeaseSplitsReply leased = Lease(a, tasks[0], 1, 2);
  v1::SplitReport first = ReadToEnd(tasks[0], leased.leases(0), 5);
  v1::SplitReport second = ReadToEnd(tasks[0], leased.leases(1), 0);
  second.set_read_to_end(false);
  second.set_abandoned(true);
  *second.add_emitted() = MakeRun(1, 0, 2);
  Beat(a, {first, second});
  EXPECT_FALSE(Beat(client, tasks[0], {MakeRun(0, 0, 5), MakeRun(1, 0, 1)}).epoch_finished());
  EXPECT_TRUE(Beat(client, tasks[0], {MakeRun(1, 1, 1)}).epoch_finished());
}

TEST_F(EpochTest, SeveralJobsRunSideBySide) {
  TestWorker worker = AddWorker("w:1");
  TestClient one = Open("one"), two = Open("two");
  ASSERT_TRUE(Start(one).ok());
  ASSERT_TRUE(Start(two).ok());
  const auto tasks = TasksOf(worker);
  ASSERT_THAT(tasks, SizeIs(2));
  EXPECT_EQ(Drink(worker, tasks[0], one), 4u);
  EXPECT_TRUE(Beat(one).epoch_finished());
  EXPECT_FALSE(Beat(two).epoch_finished());
  EXPECT_EQ(Drink(worker, tasks[1], two), 4u);
  EXPECT_TRUE(Beat(two).epoch_finished());
}

TEST_F(EpochTest, OneHugeSplitIsLeasedOnceAndRetiredOnce) {
  Use({.splits = 1});
  TestWorker worker = AddWorker("w:1");
  TestClient client = Open();
  ASSERT_TRUE(Start(client).ok());
  const uint64_t task = TasksOf(worker).at(0);
  const v1::Lease lease = Lease(worker, task, 1).leases(0);
  constexpr uint64_t kRecords = 50'000'000;
  Beat(client, task, {MakeRun(0, 0, kRecords / 2)});
  Beat(worker, {ReadToEnd(task, lease, kRecords)});
  EXPECT_TRUE(Beat(client, task, {MakeRun(0, kRecords / 2, kRecords / 2)}).epoch_finished());
}

TEST_F(EpochTest, BeatsComeSoonerTowardsTheEnd) {
  Use({.splits = 2});
  TestWorker worker = AddWorker("w:1");
  TestClient client = Open();
  ASSERT_TRUE(Start(client).ok());
  const uint64_t task = TasksOf(worker).at(0);
  EXPECT_EQ(Beat(client).beat_milliseconds(), 500u);
  const v1::LeaseSplitsReply leased = Lease(worker, task, 1, 2);
  EXPECT_EQ(Beat(client).beat_milliseconds(), 200u);
  EXPECT_EQ(Beat(worker).beat_milliseconds(), 50u);
  Beat(worker, {ReadToEnd(task, leased.leases(0), 2), ReadToEnd(task, leased.leases(1), 2)});
  EXPECT_EQ(Beat(client).beat_milliseconds(), 50u);
}

}  // namespace
}  // namespace headrace
