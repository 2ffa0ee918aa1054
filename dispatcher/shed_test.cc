// The tail of an epoch: who is asked to give leases up, what becomes of them, and of records.
#include <gmock/gmock.h>

#include "dispatcher/test_bed.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class ShedTest : public DispatcherBed {
 protected:
  // Two workers; `slow` has leased all splits, some time ago.
  void Begin(uint64_t splits) {
    Use({.splits = splits});
    slow = AddWorker("a:1");
    client = Open();
    ASSERT_TRUE(Start(client).ok());
    task = TasksOf(slow).at(0);
    const v1::LeaseSplitsReply reply = Lease(slow, task, 1, 100);
    leases.assign(reply.leases().begin(), reply.leases().end());
    ASSERT_EQ(leases.size(), splits);
    idle = AddWorker("b:1");
    idle_task = TasksOf(idle).at(0);
    clock.Advance(absl::Seconds(1));
  }
  // The slow worker leaves records to others.
  v1::SplitReport Cut(const v1::Lease& lease, std::vector<uint64_t> cuts) {
    v1::SplitReport report = ReadToEnd(task, lease, 0);
    report.set_read_to_end(false);
    report.clear_records();
    report.mutable_cuts()->Assign(cuts.begin(), cuts.end());
    return report;
  }
  static std::string PieceOf(const v1::Lease& lease) {
    return fmt::format("{}[{},{})", lease.split().id(), lease.first_record(), lease.end_record());
  }
  bool Asked(TestWorker& worker, uint64_t of) {
    const v1::WorkerBeatReply reply = Beat(worker, {}, {of});
    return reply.shed_size() == 1 && reply.shed(0).task() == of;
  }

  TestWorker slow, idle;
  TestClient client;
  uint64_t task = 0;
  uint64_t idle_task = 0;
  std::vector<v1::Lease> leases;
};

TEST_F(ShedTest, WhoHasUnreadLeasesIsAskedWhenAnotherHasNone) {
  Begin(2);
  EXPECT_FALSE(Asked(slow, task)) << "nobody has asked for more";
  EXPECT_TRUE(Lease(idle, idle_task, 1).wait());
  EXPECT_TRUE(Asked(slow, task));
  const v1::WorkerBeatReply reply = Beat(slow, {}, {task});
  ASSERT_THAT(reply.shed(), SizeIs(1));
  EXPECT_EQ(reply.shed(0).idle(), 1u);
  EXPECT_THAT(Beat(idle, {}, {idle_task}).shed(), IsEmpty());
}

class StuckTest : public ShedTest {
 protected:
  // Both workers beat, and the idle one asks for splits, for so long.
  void Wait(absl::Duration time) {
    for (absl::Duration t; t < time; t += absl::Milliseconds(500)) {
      Pass(absl::Milliseconds(500), {&idle}, {&client});
      Tell();
      const v1::LeaseSplitsReply reply = Lease(idle, idle_task, ++request, 100);
      if (reply.leases_size() > 0) last = reply;
    }
  }
  // How far the slow one has come, and what waits for its clients.
  void Tell() {
    v1::WorkerBeatRequest beat;
    beat.set_worker(slow.id);
    beat.set_worker_uid(slow.uid);
    beat.set_report_number(++slow.reports);
    beat.add_running_tasks(task);
    v1::TaskStats& stats = *beat.add_stats();
    stats.set_task(task);
    stats.set_queued_bytes(queued);
    stats.add_steps()->set_rows_in(rows += rows_each_look);
    ASSERT_TRUE(service->WorkerBeat(beat).ok());
  }

  uint64_t rows = 0;
  uint64_t rows_each_look = 0;
  uint64_t queued = 0;
  uint64_t request = 0;
  v1::LeaseSplitsReply last;
};

TEST_F(StuckTest, WhatAWorkerMakesNothingOfIsGivenOutAgain) {
  Begin(2);
  Beat(client, task, {MakeRun(1, 0, 3)});
  Wait(config.speculate_after - absl::Seconds(1));
  EXPECT_THAT(FencesOf(client), IsEmpty());
  Wait(absl::Seconds(3));
  EXPECT_THAT(FencesOf(client), ElementsAre(task));
  EXPECT_THAT(last.leases(), IsEmpty()) << "its client may still hand over what it has of them";
  Beat(client, task, {}, {task});
  Wait(absl::Seconds(1));
  ASSERT_THAT(last.leases(), SizeIs(2));
  EXPECT_EQ(last.leases(0).skip_size() + last.leases(1).skip_size(), 1);
  EXPECT_THAT(TasksOf(slow), IsEmpty()) << "there are better places";
}

TEST_F(StuckTest, WhoMakesSomethingOrWaitsForItsTrainersKeepsThem) {
  Begin(2);
  rows_each_look = 1;
  Wait(2 * config.speculate_after);
  EXPECT_THAT(FencesOf(client), IsEmpty());
  rows_each_look = 0;
  queued = 100;
  Wait(2 * config.speculate_after);
  EXPECT_THAT(FencesOf(client), IsEmpty());
}

TEST_F(StuckTest, EachTimeItTakesTwiceAsLong) {
  Begin(1);
  Wait(config.speculate_after + absl::Seconds(2));
  Beat(client, task, {}, {task});
  Wait(absl::Seconds(1));
  ASSERT_THAT(last.leases(), SizeIs(1));
  // Now it is the other one that gets nowhere, and a third has nothing.
  std::swap(slow, idle);
  task = std::exchange(idle_task, 0);
  idle = AddWorker("c:1");
  idle_task = TasksOf(idle).at(0);
  request = 0;
  Wait(2 * config.speculate_after - absl::Seconds(2));
  EXPECT_THAT(FencesOf(client), IsEmpty());
  Wait(absl::Seconds(4));
  EXPECT_THAT(FencesOf(client), ElementsAre(task));
}

TEST_F(StuckTest, NeverWhereRecordsWouldBeLostOrItIsSwitchedOff) {
  config.speculate_after = absl::ZeroDuration();
  Begin(1);
  Wait(absl::Minutes(2));
  EXPECT_THAT(FencesOf(client), IsEmpty());
}

TEST_F(ShedTest, PiecesGoToWhoIsIdleAndEachRecordCountsOnce) {
  Begin(1);
  EXPECT_TRUE(Lease(idle, idle_task, 1).wait());
  Beat(client, task, {MakeRun(0, 0, 2), MakeRun(0, 5, 1)});
  Beat(slow, {Cut(leases[0], {4, 7})}, {task});
  EXPECT_TRUE(Lease(slow, task, 2).wait()) << "it has something, and another has nothing";
  const v1::LeaseSplitsReply first = Lease(idle, idle_task, 1, 1);
  ASSERT_THAT(first.leases(), SizeIs(1));
  EXPECT_EQ(PieceOf(first.leases(0)), "0[4,7)");
  const v1::LeaseSplitsReply second = Lease(idle, idle_task, 2, 1);
  ASSERT_THAT(second.leases(), SizeIs(1));
  EXPECT_EQ(PieceOf(second.leases(0)), "0[7,0)");

  Beat(slow, {ReadToEnd(task, leases[0], 4)});
  Beat(idle, {ReadToEnd(idle_task, first.leases(0), 7), ReadToEnd(idle_task, second.leases(0), 9)});
  EXPECT_FALSE(Beat(client, task, {MakeRun(0, 2, 2)}).epoch_finished());
  EXPECT_FALSE(Beat(client, idle_task, {MakeRun(0, 4, 3), MakeRun(0, 7, 1)}).epoch_finished());
  EXPECT_TRUE(Beat(client, idle_task, {MakeRun(0, 8, 1)}).epoch_finished());
  EXPECT_EQ(JobNamed().delivered(), 9u);
  EXPECT_EQ(JobNamed().epochs(0).pieces(), 2u);
}

TEST_F(ShedTest, AWholeLeaseIsGivenUpAndLeasedAgainWhole) {
  Begin(2);
  EXPECT_TRUE(Lease(idle, idle_task, 1).wait());
  Beat(slow, {Cut(leases[1], {0})}, {task});
  const v1::LeaseSplitsReply reply = Lease(idle, idle_task, 1);
  ASSERT_THAT(reply.leases(), SizeIs(1));
  EXPECT_EQ(PieceOf(reply.leases(0)), "1[0,0)");
  Beat(slow, {ReadToEnd(task, leases[1], 5)});  // too late: it is not its own any more
  Beat(slow, {ReadToEnd(task, leases[0], 0)});
  EXPECT_FALSE(Beat(client).epoch_finished());
  Beat(idle, {ReadToEnd(idle_task, reply.leases(0), 1)});
  EXPECT_TRUE(Beat(client, idle_task, {MakeRun(1, 0, 1)}).epoch_finished());
}

TEST_F(ShedTest, CutsToldTwiceAreTakenOnceAndLaterOnesCutTheRest) {
  Begin(1);
  Beat(slow, {Cut(leases[0], {8})});
  Beat(slow, {Cut(leases[0], {8, 9})});  // 8 on are others': says nothing
  Beat(slow, {Cut(leases[0], {3, 8})});
  std::vector<std::string> pieces;
  for (uint64_t number = 1; number <= 3; ++number) {
    const v1::LeaseSplitsReply reply = Lease(idle, idle_task, number);
    for (const v1::Lease& lease : reply.leases()) pieces.push_back(PieceOf(lease));
  }
  EXPECT_EQ(JobNamed().epochs(0).pieces(), 2u);
  EXPECT_THAT(pieces, ElementsAre("0[3,8)", "0[8,0)"));
}

TEST_F(ShedTest, CutsBehindTheEndOfTheSplitLoseNothingAndKeepNobodyWaiting) {
  Begin(1);
  EXPECT_TRUE(Lease(idle, idle_task, 1).wait());
  Beat(slow, {Cut(leases[0], {10, 20})});
  Beat(slow, {ReadToEnd(task, leases[0], 6)});  // it has no more
  const v1::LeaseSplitsReply first = Lease(idle, idle_task, 1, 9);
  const v1::LeaseSplitsReply second = Lease(idle, idle_task, 2, 9);
  Beat(client, task, {MakeRun(0, 0, 6)});
  std::vector<v1::SplitReport> reports;
  for (const auto* reply : {&first, &second}) {
    for (const v1::Lease& lease : reply->leases())
      reports.push_back(ReadToEnd(idle_task, lease, 6));
  }
  EXPECT_EQ(reports.size(), 2u);
  Beat(idle, reports);
  EXPECT_TRUE(Beat(client).epoch_finished());
}

TEST_F(ShedTest, APieceOfALostWorkerComesBackWithWhatIsDoneOfIt) {
  Begin(1);
  EXPECT_TRUE(Lease(idle, idle_task, 1).wait());
  Beat(slow, {Cut(leases[0], {4})});
  ASSERT_THAT(Lease(idle, idle_task, 1).leases(), SizeIs(1));
  Beat(client, idle_task, {MakeRun(0, 6, 1)});
  Pass(absl::Seconds(6), {&slow}, {&client});
  Beat(client, 0, {}, {idle_task});
  Beat(slow, {ReadToEnd(task, leases[0], 4)});
  const v1::LeaseSplitsReply again = Lease(slow, task, 2);
  ASSERT_THAT(again.leases(), SizeIs(1));
  EXPECT_EQ(PieceOf(again.leases(0)), "0[4,0)");
  ASSERT_THAT(again.leases(0).skip(), SizeIs(1));
  EXPECT_EQ(again.leases(0).skip(0).first(), 6u);
  Beat(slow, {ReadToEnd(task, again.leases(0), 8)});
  EXPECT_FALSE(Beat(client, task, {MakeRun(0, 0, 6)}).epoch_finished());
  EXPECT_TRUE(Beat(client, task, {MakeRun(0, 7, 1)}).epoch_finished());
}

TEST_F(ShedTest, WhoGivesNothingUpIsLeftAloneAndNobodyWaitsForIt) {
  Begin(1);
  EXPECT_TRUE(Lease(idle, idle_task, 1).wait());
  EXPECT_TRUE(Asked(slow, task));
  clock.Advance(absl::Milliseconds(400));
  EXPECT_FALSE(Asked(slow, task));
  EXPECT_TRUE(Lease(idle, idle_task, 1).exhausted());
  clock.Advance(absl::Milliseconds(1100));
  EXPECT_TRUE(Asked(slow, task)) << "by now it may be further behind";
}

TEST_F(ShedTest, NobodyIsAskedInAnEpochThatHasJustBegun) {
  config.shed_after = absl::Seconds(10);
  Begin(1);
  EXPECT_TRUE(Lease(idle, idle_task, 1).exhausted());
  EXPECT_FALSE(Asked(slow, task));
}

TEST_F(ShedTest, LanesOfTheirOwnAreNeverCut) {
  options.set_sharding(v1::SHARDING_STATIC_DATA);
  options.set_static_slots(2);
  Use({.splits = 1});
  slow = AddWorker("a:1");
  idle = AddWorker("b:1");
  client = Open();
  ASSERT_TRUE(Start(client).ok());
  task = TasksOf(slow).at(0);
  idle_task = TasksOf(idle).at(0);
  leases = {Lease(slow, task, 1).leases(0)};
  ASSERT_THAT(Lease(idle, idle_task, 1).leases(), SizeIs(1));
  clock.Advance(absl::Seconds(1));
  EXPECT_TRUE(Lease(idle, idle_task, 2).exhausted());
  EXPECT_FALSE(Asked(slow, task));
}

TEST_F(ShedTest, ACutThatNoSplitCanHaveIsRefused) {
  Begin(1);
  v1::WorkerBeatRequest request;
  request.set_worker(slow.id);
  request.set_worker_uid(slow.uid);
  *request.add_splits() = Cut(leases[0], {uint64_t{1} << 40});
  EXPECT_EQ(service->WorkerBeat(request).status().code(), absl::StatusCode::kOutOfRange);
}

}  // namespace
}  // namespace headrace
