// Ordering deterministic, as the dispatcher sees it: windows, lanes, what is made again.
#include <gmock/gmock.h>

#include <map>
#include <set>

#include "dispatcher/test_bed.h"
#include "element/pipeline_sketch.h"

namespace headrace {
namespace {

using testing::HasSubstr;

class OrderedTest : public DispatcherBed {
 protected:
  void Order(uint64_t splits, uint32_t lanes, uint64_t passes = 1) {
    Use({.splits = splits, .passes = passes, .batch_rows = 8});
    options.set_ordering(v1::ORDERING_DETERMINISTIC);
    options.set_ordered_lanes(lanes);
    // The made-up splits have no bytes, so a lane would be one window.
    options.set_ordered_window_bytes(2);
  }
  struct Placed {
    uint64_t task;
    uint64_t job;
    v1::OrderedTask lane;
  };
  std::vector<Placed> Tasks(TestWorker& worker) {
    std::vector<Placed> placed;
    const v1::WorkerBeatReply reply = Beat(worker);
    for (const v1::TaskDef& def : reply.start()) {
      EXPECT_TRUE(def.has_ordered());
      EXPECT_FALSE(def.replay());
      placed.push_back({def.task(), def.job(), def.ordered()});
    }
    return placed;
  }
  // The rank is past these windows, per lane; `dropped` of `task` are left out.
  v1::ClientBeatReply Tell(TestClient& client, std::vector<uint64_t> windows, uint64_t task = 0,
                           std::vector<v1::Run> dropped = {}) {
    v1::ClientBeatRequest request;
    request.set_client(client.id);
    request.set_job(client.job);
    request.set_epoch(client.epoch);
    request.set_report_number(++client.reports);
    v1::TaskRuns& passed = *request.add_dropped();
    for (size_t lane = 0; lane < windows.size(); ++lane)
      *passed.add_runs() = MakeRun(lane, windows[lane], 1);
    if (task != 0) {
      v1::TaskRuns& runs = *request.add_dropped();
      runs.set_task(task);
      runs.mutable_runs()->Assign(dropped.begin(), dropped.end());
    }
    const auto reply = Twice(&DispatcherService::ClientBeat, request);
    EXPECT_TRUE(reply.ok()) << reply.status();
    return reply.value_or(v1::ClientBeatReply());
  }
  // All leases of a task.
  std::vector<v1::Lease> All(const TestWorker& worker, uint64_t task) {
    const v1::LeaseSplitsReply reply = Lease(worker, task, ++requests_, 100);
    return {reply.leases().begin(), reply.leases().end()};
  }
  static std::vector<uint64_t> Windows(const std::vector<v1::Lease>& leases) {
    std::vector<uint64_t> windows;
    for (const v1::Lease& lease : leases) windows.push_back(lease.window());
    return windows;
  }

 private:
  uint64_t requests_ = 0;
};

TEST_F(OrderedTest, LanesAreTheSameForAnyWorkersAndAnyTime) {
  Order(12, 4);
  std::vector<TestWorker> workers;
  std::vector<std::vector<uint64_t>> found;
  for (const size_t count : {1u, 3u}) {
    while (workers.size() < count) workers.push_back(AddWorker(std::to_string(workers.size())));
    TestClient client = Open(std::to_string(count));
    ASSERT_TRUE(Start(client).ok());
    std::map<uint32_t, std::vector<uint64_t>> lanes;
    for (TestWorker& worker : workers) {
      for (const Placed& placed : Tasks(worker)) {
        if (placed.job != client.job) continue;
        for (const v1::Lease& lease : All(worker, placed.task))
          lanes[placed.lane.lane()].push_back(lease.split().id());
      }
    }
    std::vector<uint64_t> flat;
    for (const auto& [lane, splits] : lanes) flat.insert(flat.end(), splits.begin(), splits.end());
    EXPECT_EQ(std::set<uint64_t>(flat.begin(), flat.end()).size(), 12u);
    found.push_back(flat);
  }
  EXPECT_EQ(found[0], found[1]);
}

TEST_F(OrderedTest, AWindowIsMadeAgainAsAWholeWhenItsWorkerIsLost) {
  Order(6, 1);
  TestWorker first = AddWorker("a");
  TestClient client = Open();
  const auto started = Start(client);
  ASSERT_TRUE(started.ok()) << started.status();
  const uint64_t windows = started->lane_windows(0);
  const uint64_t task = Tasks(first).at(0).task;
  const std::vector<v1::Lease> leases = All(first, task);
  ASSERT_EQ(leases.size(), 6u);
  ASSERT_EQ(leases.back().window() + 1, windows);
  EXPECT_TRUE(leases.back().ends_window());
  // The first window is delivered, and one record of the second.
  const uint64_t size = 6 / windows;
  std::vector<v1::SplitReport> reports;
  for (const v1::Lease& lease : leases) reports.push_back(ReadToEnd(task, lease, 10));
  Beat(first, reports, {task});
  std::vector<v1::Run> runs;
  for (uint64_t i = 0; i < size; ++i) runs.push_back(MakeRun(leases[i].split().id(), 0, 10));
  if (windows > 1) runs.push_back(MakeRun(leases[size].split().id(), 0, 1));
  Beat(client, task, runs);
  Tell(client, {1});

  TestWorker second = AddWorker("b");
  Pass(config.worker_timeout + absl::Seconds(2), {&second}, {&client});
  // No client has to confirm anything: what is made again is the same.
  EXPECT_TRUE(FencesOf(client).empty());
  const std::vector<Placed> again = Tasks(second);
  ASSERT_EQ(again.size(), 1u);
  const std::vector<v1::Lease> rest = All(second, again[0].task);
  ASSERT_EQ(rest.size(), windows > 1 ? 6 - size : 0);
  for (size_t i = 0; i < rest.size(); ++i) {
    EXPECT_EQ(rest[i].split().id(), leases[size + i].split().id());
    EXPECT_EQ(rest[i].window(), leases[size + i].window());
    EXPECT_EQ(rest[i].skip_size(), 0) << "a window is made as a whole";
  }
}

TEST_F(OrderedTest, TheEpochEndsWhenAllIsDeliveredOrDropped) {
  Order(2, 1);
  TestWorker worker = AddWorker("a");
  TestClient client = Open();
  ASSERT_TRUE(Start(client).ok());
  const uint64_t task = Tasks(worker).at(0).task;
  const std::vector<v1::Lease> leases = All(worker, task);
  ASSERT_EQ(leases.size(), 2u);
  Beat(worker, {ReadToEnd(task, leases[0], 10), ReadToEnd(task, leases[1], 3)}, {task});
  Beat(client, task, {MakeRun(leases[0].split().id(), 0, 10)});
  const v1::ClientBeatReply reply =
      Tell(client, {1}, task, {MakeRun(leases[1].split().id(), 0, 3)});
  EXPECT_TRUE(reply.epoch_finished());
  EXPECT_EQ(reply.summary().delivered(), 10u);
  EXPECT_EQ(reply.summary().settled(), 3u);
}

TEST_F(OrderedTest, AWindowIsKeptUntilEveryRankIsPastIt) {
  Order(2, 1);
  options.set_world_size(2);
  TestWorker worker = AddWorker("a");
  TestClient first = Open();
  v1::OpenJobRequest open = OpenRequest();
  open.set_rank(1);
  TestClient second{service->OpenJob(open)->client(), first.job, 0, 0};
  ASSERT_TRUE(Start(first).ok());
  ASSERT_TRUE(Start(second).ok());
  const uint64_t task = Tasks(worker).at(0).task;
  const std::vector<v1::Lease> leases = All(worker, task);
  ASSERT_EQ(leases.size(), 2u);
  Beat(worker, {ReadToEnd(task, leases[0], 4), ReadToEnd(task, leases[1], 3)}, {task});
  // Rows that were left over may all go to one rank; the other must know of them all the same.
  Beat(first, task, {MakeRun(leases[0].split().id(), 0, 4), MakeRun(leases[1].split().id(), 0, 3)});
  EXPECT_FALSE(Tell(first, {1}).epoch_finished());
  // The other rank lost its stream: the window is made again, though all of it is delivered.
  Beat(second, 0, {}, {}, {task});
  const std::vector<Placed> again = Tasks(worker);
  ASSERT_EQ(again.size(), 1u);
  const std::vector<v1::Lease> rest = All(worker, again[0].task);
  ASSERT_EQ(rest.size(), 2u);
  for (const v1::Lease& lease : rest) {
    const uint64_t records = lease.split().id() == leases[0].split().id() ? 4 : 3;
    Beat(worker, {ReadToEnd(again[0].task, lease, records)}, {again[0].task});
  }
  EXPECT_TRUE(Tell(second, {1}).epoch_finished());
}

TEST_F(OrderedTest, LanesMoveToWorkersThatCome) {
  Order(8, 4);
  TestWorker first = AddWorker("a");
  TestClient client = Open();
  ASSERT_TRUE(Start(client).ok());
  EXPECT_EQ(Tasks(first).size(), 4u);
  TestWorker second = AddWorker("b");
  Pass(absl::Seconds(1), {&first, &second}, {&client});
  EXPECT_EQ(Tasks(first).size(), 2u);
  EXPECT_EQ(Tasks(second).size(), 2u);
}

TEST_F(OrderedTest, AnEpochIsBegunAtAPosition) {
  Order(8, 2);
  TestWorker worker = AddWorker("a");
  TestClient client = Open();
  v1::StartEpochRequest request;
  request.set_client(client.id);
  request.set_job(client.job);
  request.set_epoch(3);
  request.mutable_position()->set_epoch(3);
  request.mutable_position()->add_lanes()->set_window(1);
  request.mutable_position()->add_lanes()->set_window(0);
  client.epoch = 3;
  const auto started = service->StartEpoch(request);
  ASSERT_TRUE(started.ok()) << started.status();
  for (const Placed& placed : Tasks(worker)) {
    const std::vector<v1::Lease> leases = All(worker, placed.task);
    if (leases.empty()) continue;
    EXPECT_EQ(leases.front().window(), placed.lane.lane() == 0 ? 1 : 0);
  }
  // Another rank must begin there, too.
  TestClient other = Open();
  const auto refused = Start(other, 3);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("give all ranks the same state"));
}

// Trainers come back on another number of ranks: with a checkpoint, under the same name, whether
// the old ones are gone or not.
TEST_F(OrderedTest, AJobGoesOnUnderItsNameOnAnotherNumberOfRanks) {
  Order(8, 2);
  options.set_world_size(2);
  TestWorker worker = AddWorker("a");
  TestClient old = Open();
  ASSERT_TRUE(Start(old).ok());
  for (const Placed& placed : Tasks(worker)) EXPECT_EQ(placed.lane.ranks(), 2u);

  options.set_world_size(4);
  const auto opened = service->OpenJob(OpenRequest());
  ASSERT_TRUE(opened.ok()) << opened.status();
  TestClient fresh{opened->client(), opened->job(), 0, 0};
  EXPECT_EQ(fresh.job, old.job);
  const auto refused = Start(fresh);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(refused.status().message()),
              testing::AllOf(HasSubstr("world_size is 4 here, 2 there"),
                             HasSubstr("load_state_dict"), HasSubstr("headrace cancel job")));

  v1::RestoreJobRequest restore;
  restore.set_client(fresh.id);
  restore.set_job(fresh.job);
  restore.set_readers(1);
  restore.set_incarnation(opened->incarnation());
  v1::LoaderState& state = *restore.add_states();
  state.set_version(1);
  state.set_fingerprint(opened->fingerprint());
  state.set_dataset_version(opened->dataset_version());
  state.set_readers(1);
  *state.mutable_pipeline() = SketchOf(pipeline);
  state.mutable_ordered()->add_lanes()->set_window(1);
  state.mutable_ordered()->add_lanes()->set_window(1);
  const auto restored = Twice(&DispatcherService::RestoreJob, restore);
  ASSERT_TRUE(restored.ok()) << restored.status();
  ASSERT_TRUE(restored->ready());

  v1::StartEpochRequest start;
  start.set_client(fresh.id);
  start.set_job(fresh.job);
  start.set_incarnation(restored->incarnation());
  *start.mutable_position() = restored->ordered();
  ASSERT_TRUE(service->StartEpoch(start).ok());
  const std::vector<Placed> again = Tasks(worker);
  ASSERT_EQ(again.size(), 2u);
  for (const Placed& placed : again) {
    EXPECT_EQ(placed.lane.ranks(), 4u);
    EXPECT_EQ(All(worker, placed.task).front().window(), 1u);
  }
  const std::string before = service->Dump();
  Restart();
  EXPECT_EQ(service->Dump(), before);
}

TEST_F(OrderedTest, ANumberOfRanksThatABatchDoesNotDivideAmongCannotJoin) {
  Order(8, 2);
  options.set_world_size(2);
  Open();
  options.set_world_size(3);
  EXPECT_THAT(std::string(service->OpenJob(OpenRequest()).status().message()),
              HasSubstr("does not divide among 3 ranks"));
}

TEST_F(OrderedTest, ReplayingTheJournalGivesTheSameState) {
  Order(6, 2);
  TestWorker worker = AddWorker("a");
  TestClient client = Open();
  ASSERT_TRUE(Start(client).ok());
  for (const Placed& placed : Tasks(worker)) {
    for (const v1::Lease& lease : All(worker, placed.task)) {
      Beat(worker, {ReadToEnd(placed.task, lease, 4)}, {placed.task});
      Beat(client, placed.task, {MakeRun(lease.split().id(), 0, 4)});
      break;
    }
  }
  const std::string before = service->Dump();
  Restart();
  EXPECT_EQ(service->Dump(), before);
}

TEST_F(OrderedTest, WhatCannotBeOrderedIsRefused) {
  Order(2, 1);
  options.set_world_size(3);
  EXPECT_THAT(std::string(service->OpenJob(OpenRequest("three")).status().message()),
              HasSubstr("does not divide among 3 ranks"));
  options.set_world_size(1);
  options.set_sharding(v1::SHARDING_STATIC_FILE);
  EXPECT_THAT(std::string(service->OpenJob(OpenRequest("static")).status().message()),
              HasSubstr("leave sharding at dynamic"));
  options.clear_sharding();
  options.set_visitation(v1::VISITATION_AT_MOST_ONCE);
  EXPECT_THAT(std::string(service->OpenJob(OpenRequest("most")).status().message()),
              HasSubstr("exactly once"));
}

}  // namespace
}  // namespace headrace
