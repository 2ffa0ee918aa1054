// Losses: of workers, streams and clients; what is fenced, who confirms, what is given out again.
#include <gmock/gmock.h>

#include "dispatcher/test_bed.h"

namespace headrace {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class FenceTest : public DispatcherBed {
 protected:
  // Two workers, one split, leased by `a`.
  void Begin(FakePipelineResolver::Shape shape = {.splits = 1}) {
    Use(shape);
    a = AddWorker("a:1");
    client = Open();
    ASSERT_TRUE(Start(client).ok());
    task = TasksOf(a).at(0);
    lease = Lease(a, task, 1).leases(0);
    b = AddWorker("b:1");
  }
  static std::string SkipOf(const v1::Lease& lease) {
    std::string text;
    for (const v1::Run& run : lease.skip())
      text += fmt::format("[{}+{}]", run.first(), run.count());
    return text;
  }

  TestWorker a, b;
  TestClient client;
  uint64_t task = 0;
  v1::Lease lease;
};

TEST_F(FenceTest, ALostWorkersSplitComesBackOnlyWhenEveryReaderConfirmed) {
  Begin();
  TestClient second = Open();
  ASSERT_TRUE(Start(second).ok());
  TestClient idle = Open();  // never began the epoch: holds nothing, is not asked
  const uint64_t task_b = TasksOf(b).at(0);
  Beat(client, task, {MakeRun(0, 0, 2)});
  v1::SplitReport settled = ReadToEnd(task, lease, 0, {MakeRun(0, 5, 1)});
  settled.set_read_to_end(false);
  Beat(a, {settled});
  Pass(absl::Seconds(6), {&b}, {&client, &second, &idle});

  EXPECT_THAT(Beat(client).fences(), ElementsAre(task));
  EXPECT_EQ(Beat(client).beat_milliseconds(), 50u);
  EXPECT_THAT(Beat(idle).fences(), IsEmpty());
  EXPECT_TRUE(Lease(a, task, 2).unknown_task());
  EXPECT_TRUE(Lease(b, task_b, 1).exhausted());
  // The last deliveries come with the confirmation, and count.
  EXPECT_THAT(Beat(client, task, {MakeRun(0, 2, 1)}, {task}).fences(), IsEmpty());
  EXPECT_TRUE(Lease(b, task_b, 2).exhausted());
  Beat(second, task, {MakeRun(0, 8, 1)}, {task});
  const v1::LeaseSplitsReply again = Lease(b, task_b, 3);
  ASSERT_THAT(again.leases(), SizeIs(1));
  EXPECT_EQ(SkipOf(again.leases(0)), "[0+3][5+1][8+1]");
  EXPECT_GT(again.leases(0).number(), lease.number());
}

TEST_F(FenceTest, ReportsOfAFencedTaskMeanNothing) {
  Begin();
  Beat(client, 0, {}, {}, {task});
  EXPECT_THAT(Beat(client).fences(), ElementsAre(task));
  Beat(a, {ReadToEnd(task, lease, 4, {MakeRun(0, 0, 4)})});
  EXPECT_FALSE(Beat(client, 0, {}, {task}).epoch_finished());
  EXPECT_EQ(JobNamed().settled(), 0u);
}

TEST_F(FenceTest, AWorkerThatComesBackFromAPauseIsUnknownAndRegistersAnew) {
  Begin();
  Pass(absl::Seconds(6), {&b}, {&client});
  EXPECT_TRUE(Beat(a).unknown_worker());
  const TestWorker again = AddWorker("a:1", a.uid);
  EXPECT_NE(again.id, a.id);
}

TEST_F(FenceTest, AWorkerThatSaysGoodbyeIsFencedAtOnce) {
  Begin();
  v1::WorkerBeatRequest goodbye;
  goodbye.set_worker(a.id);
  goodbye.set_worker_uid(a.uid);
  goodbye.set_leaving(true);
  EXPECT_TRUE(Twice(&DispatcherService::WorkerBeat, goodbye)->drained());
  EXPECT_THAT(FencesOf(client), ElementsAre(task));
  Beat(client, 0, {}, {task});
  EXPECT_THAT(Lease(b, TasksOf(b).at(0), 1).leases(), SizeIs(1));
}

TEST_F(FenceTest, AnotherProcessAtTheAddressFencesTheOldOne) {
  Begin();
  AddWorker("a:1");
  EXPECT_THAT(Beat(client).fences(), ElementsAre(task));
  EXPECT_TRUE(Beat(a).unknown_worker());
}

TEST_F(FenceTest, AllDeliveredButUnreadIsRetiredAtTheConfirmation) {
  Begin();
  Beat(a, {ReadToEnd(task, lease, 3)});
  Beat(client, task, {MakeRun(0, 0, 2)});
  Pass(absl::Seconds(6), {&b}, {&client});
  EXPECT_TRUE(Beat(client, task, {MakeRun(0, 2, 1)}, {task}).epoch_finished());
}

TEST_F(FenceTest, ALateJoinerIsToldTheFencesInForce) {
  Begin();
  Pass(absl::Seconds(6), {&b}, {&client});
  TestClient late = Open();
  const auto started = Start(late);
  EXPECT_THAT(started->fenced_tasks(), Contains(task));
  EXPECT_THAT(Beat(late).fences(), IsEmpty());
}

TEST_F(FenceTest, ABrokenStreamFencesItsTaskAndTheWorkerGetsAnother) {
  Begin();
  Beat(client, 0, {}, {}, {task});
  const auto tasks = TasksOf(a);
  ASSERT_THAT(tasks, SizeIs(1));
  EXPECT_NE(tasks[0], task);
  EXPECT_THAT(Beat(a, {}, {task}).stop(), ElementsAre(task));
  Beat(client, 0, {}, {task});
  EXPECT_THAT(Lease(a, tasks[0], 1).leases(), SizeIs(1));
}

TEST_F(FenceTest, AWorkerThatKeepsFailingGetsNoMoreWhileThereAreOthers) {
  Begin();
  for (int i = 0; i < 3; ++i) {
    const uint64_t broken = TasksOf(a).at(0);
    Beat(client, 0, {}, {}, {broken});
    Beat(client, 0, {}, {broken});
  }
  EXPECT_THAT(TasksOf(a), IsEmpty());
  EXPECT_THAT(TasksOf(b), SizeIs(1));
}

TEST_F(FenceTest, AClientThatLeavesHandsItsShareToTheOthers) {
  Begin();
  TestClient other = Open();
  ASSERT_TRUE(Start(other).ok());
  Close(client, task, {MakeRun(0, 0, 1)});
  EXPECT_THAT(Beat(other).fences(), Contains(task));
  const std::vector<uint64_t> fences = FencesOf(other);
  Beat(other, 0, {}, fences);
  const v1::LeaseSplitsReply again = Lease(b, TasksOf(b).at(0), 1);
  ASSERT_THAT(again.leases(), SizeIs(1));
  EXPECT_EQ(SkipOf(again.leases(0)), "[0+1]");
}

TEST_F(FenceTest, ALostClientIsNotWaitedForWhereTheJobSaysSoAndItsShareGoesToOthers) {
  options.set_on_client_loss(v1::ON_CLIENT_LOSS_REASSIGN);
  Begin();
  TestClient other = Open();
  ASSERT_TRUE(Start(other).ok());
  Pass(absl::Seconds(11), {&a, &b}, {&other});
  EXPECT_TRUE(Beat(client).unknown_client());
  const std::vector<uint64_t> fences = FencesOf(other);
  EXPECT_THAT(fences, Contains(task));
  Beat(other, 0, {}, fences);
  EXPECT_THAT(Lease(b, TasksOf(b).at(0), 1).leases(), SizeIs(1));
  EXPECT_THAT(JobNamed().warnings(), ElementsAre(HasSubstr("may have come twice")));
}

TEST_F(FenceTest, ASilentClientIsWaitedForWithExactlyOnce) {
  Begin();
  TestClient other = Open();
  ASSERT_TRUE(Start(other).ok());
  Pass(absl::Seconds(30), {&a, &b}, {&other});
  EXPECT_THAT(Beat(other).fences(), IsEmpty());
  EXPECT_TRUE(Lease(b, TasksOf(b).at(0), 1).wait()) << "`a` may give some up";
  EXPECT_THAT(Beat(other).waiting(), HasSubstr("jobs release job"));
  EXPECT_THAT(JobNamed().error(), HasSubstr("waiting for client 1 (rank 0)"));
  Beat(a, {ReadToEnd(task, lease, 2)});
  EXPECT_TRUE(Beat(client, task, {MakeRun(0, 0, 2)}).epoch_finished());
}

TEST_F(FenceTest, WhileASilentClientIsWaitedForTheOthersGoOnWithOtherSplits) {
  Begin({.splits = 3});
  TestClient other = Open();
  ASSERT_TRUE(Start(other).ok());
  // Its worker goes too: what that held waits for the client's confirmation, and nothing else does.
  Pass(absl::Seconds(30), {&b}, {&other});
  const std::vector<uint64_t> fences = FencesOf(other);
  EXPECT_THAT(fences, Contains(task));
  Beat(other, 0, {}, fences);
  const uint64_t task_b = TasksOf(b).at(0);
  const v1::LeaseSplitsReply rest = Lease(b, task_b, 1, 10);
  ASSERT_THAT(rest.leases(), SizeIs(2));
  std::vector<v1::SplitReport> reports;
  for (const v1::Lease& each : rest.leases()) reports.push_back(ReadToEnd(task_b, each, 0));
  Beat(b, reports);
  EXPECT_FALSE(Beat(other).epoch_finished());
  EXPECT_THAT(Beat(other).waiting(), HasSubstr("silent for"));
  v1::ReleaseJobRequest release;
  release.set_job_name("job");
  const auto released = service->ReleaseJob(release);
  ASSERT_TRUE(released.ok()) << released.status();
  EXPECT_THAT(released->clients(), ElementsAre(HasSubstr("client 1")));
  EXPECT_THAT(Twice(&DispatcherService::ReleaseJob, release)->clients(), IsEmpty());
  EXPECT_TRUE(Beat(client).unknown_client());
  const std::vector<uint64_t> all = FencesOf(other);
  Beat(other, 0, {}, all);
  const auto again = Lease(b, TasksOf(b).at(0), 1, 10);
  ASSERT_THAT(again.leases(), SizeIs(1));
  EXPECT_EQ(again.leases(0).split().id(), 0u);
  release.set_job_name("nobody");
  EXPECT_EQ(service->ReleaseJob(release).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(FenceTest, WhenTheLastClientGoesTheEpochIsParkedAndTheNextOneContinuesIt) {
  Begin();
  Close(client, task, {MakeRun(0, 0, 2)});
  EXPECT_THAT(Beat(a, {}, {task}).stop(), ElementsAre(task));
  EXPECT_THAT(TasksOf(a), IsEmpty());
  EXPECT_THAT(JobNamed().error(), HasSubstr("waiting for clients"));
  TestClient next = Open();
  EXPECT_EQ(next.job, client.job);
  EXPECT_EQ(next.epoch, 0u);
  ASSERT_TRUE(Start(next).ok());
  const v1::LeaseSplitsReply again = Lease(a, TasksOf(a).at(0), 1);
  ASSERT_THAT(again.leases(), SizeIs(1));
  EXPECT_EQ(SkipOf(again.leases(0)), "[0+2]");
}

TEST_F(FenceTest, AtLeastOnceDoesNotWait) {
  options.set_visitation(v1::VISITATION_AT_LEAST_ONCE);
  Begin();
  Pass(absl::Seconds(6), {&b}, {&client});
  EXPECT_THAT(Lease(b, TasksOf(b).at(0), 1).leases(), SizeIs(1));
}

TEST_F(FenceTest, ADispatcherThatStoodStillTakesNobodyForLost) {
  Begin();
  service->RunDuties();
  clock.Advance(absl::Seconds(60));  // stopped, and going on
  service->RunDuties();
  EXPECT_FALSE(Beat(client).unknown_client());
  EXPECT_FALSE(Beat(a).unknown_worker());
  Pass(absl::Seconds(6), {&b}, {&client});  // awake: silence counts again
  EXPECT_TRUE(Beat(a).unknown_worker());
}

TEST_F(FenceTest, AnAnswerWhoseLeasesAreRetiredIsNotTheEndOfThem) {
  Begin({.splits = 2});
  Beat(client, task, {MakeRun(0, 0, 10)});
  Beat(a, {ReadToEnd(task, lease, 10)});
  // The answer to request 1 was lost, its one split is through all the same.
  const v1::LeaseSplitsReply again = Lease(a, task, 1);
  EXPECT_THAT(again.leases(), IsEmpty());
  EXPECT_FALSE(again.exhausted());
  EXPECT_THAT(Lease(a, task, 2).leases(), SizeIs(1));
}

TEST_F(FenceTest, AtMostOnceGivesUpWhatALostWorkerHeld) {
  options.set_visitation(v1::VISITATION_AT_MOST_ONCE);
  Begin({.splits = 2});
  Pass(absl::Seconds(6), {&b}, {&client});
  Beat(client, 0, {}, {task});
  const uint64_t task_b = TasksOf(b).at(0);
  const v1::LeaseSplitsReply rest = Lease(b, task_b, 1, 10);
  ASSERT_THAT(rest.leases(), SizeIs(1));
  EXPECT_EQ(rest.leases(0).split().id(), 1u);
  Beat(b, {ReadToEnd(task_b, rest.leases(0), 0)});
  EXPECT_TRUE(Beat(client).epoch_finished());
}

TEST_F(FenceTest, AtMostOnceGivesUpWhatAnOpenFenceAwaitedFromALostClient) {
  options.set_visitation(v1::VISITATION_AT_MOST_ONCE);
  options.set_on_client_loss(v1::ON_CLIENT_LOSS_REASSIGN);
  Begin({.splits = 1});
  TestClient lost = Open();
  ASSERT_TRUE(Start(lost).ok());
  TestClient leaving = Open();
  ASSERT_TRUE(Start(leaving).ok());
  // A fence that gives nothing up by itself, and waits for both others.
  Close(leaving);
  Beat(client, 0, {}, {task});
  Pass(absl::Seconds(11), {&a, &b}, {&client});
  const auto fences = Beat(client).fences();
  // The lost one may have handed over what the fence awaited from it.
  const v1::ClientBeatReply reply = Beat(client, 0, {}, {fences.begin(), fences.end()});
  EXPECT_TRUE(reply.epoch_finished());
  EXPECT_EQ(reply.summary().delivered(), 0u);
}

TEST_F(FenceTest, ASingleTaskIsReplayedFromTheFirstSplitAfterTheConfirmation) {
  Begin({.splits = 3, .single_task = true});
  Beat(a, {ReadToEnd(task, lease, 2)});
  Beat(client, task, {MakeRun(0, 0, 2)});  // split 0 is retired
  const v1::Lease second = Lease(a, task, 2).leases(0);
  EXPECT_EQ(second.split().id(), 1u);
  Beat(client, task, {MakeRun(1, 0, 1)});
  Pass(absl::Seconds(6), {&b}, {&client});
  EXPECT_THAT(TasksOf(b), IsEmpty());  // not before the confirmation
  Beat(client, 0, {}, {task});
  const v1::WorkerBeatReply reply = Beat(b);
  ASSERT_THAT(reply.start(), SizeIs(1));
  EXPECT_TRUE(reply.start(0).replay());
  const v1::LeaseSplitsReply again = Lease(b, reply.start(0).task(), 1, 10);
  ASSERT_THAT(again.leases(), SizeIs(3));
  EXPECT_EQ(SkipOf(again.leases(0)), "[0+2]");
  EXPECT_EQ(SkipOf(again.leases(1)), "[0+1]");
  EXPECT_EQ(SkipOf(again.leases(2)), "");
}

TEST_F(FenceTest, ADrainedWorkerFinishesItsLeasesAndLeaves) {
  Begin({.splits = 2});
  v1::DrainWorkerRequest drain;
  drain.set_worker("a:1");
  ASSERT_TRUE(Twice(&DispatcherService::DrainWorker, drain).ok());
  EXPECT_FALSE(Beat(a, {}, {task}).drained());
  EXPECT_TRUE(Lease(a, task, 2).exhausted());
  Beat(a, {ReadToEnd(task, lease, 1)}, {task});
  Beat(client, task, {MakeRun(0, 0, 1)});
  EXPECT_TRUE(Beat(a, {}, {task}).drained());
  EXPECT_TRUE(Beat(a).drained());  // should the first answer be lost
  EXPECT_THAT(Lease(b, TasksOf(b).at(0), 1).leases(), SizeIs(1));
  drain.set_worker("nobody");
  EXPECT_EQ(service->DrainWorker(drain).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(FenceTest, APassingTaskErrorMovesTheWorkAFewTimes) {
  Begin();
  for (int i = 0; i < 4; ++i) {
    TestWorker& worker = TasksOf(a).empty() ? b : a;
    const uint64_t failing = TasksOf(worker).at(0);
    v1::TaskError error;
    error.set_task(failing);
    error.set_code(static_cast<uint32_t>(absl::StatusCode::kUnavailable));
    error.set_message("storage is away");
    Beat(worker, {}, {failing}, {error});
    Beat(client, 0, {}, {failing});
    EXPECT_EQ(Beat(client).has_failure(), i == 3) << i;
  }
  EXPECT_THAT(Beat(client).failure().message(), HasSubstr("storage is away"));
  EXPECT_THAT(Beat(client).failure().message(), HasSubstr("max_task_errors"));
}

TEST_F(FenceTest, ALastingTaskErrorEndsTheJob) {
  Begin();
  v1::TaskError error;
  error.set_task(task);
  error.set_code(static_cast<uint32_t>(absl::StatusCode::kPermissionDenied));
  error.set_message("open s3://x: no");
  Beat(a, {}, {task}, {error});
  EXPECT_EQ(Beat(client).failure().code(),
            static_cast<uint32_t>(absl::StatusCode::kPermissionDenied));
  EXPECT_EQ(JobNamed().state(), "failed");
}

class ErrorBudgetTest : public FenceTest {
 protected:
  v1::SplitReport Failing(uint64_t first, uint64_t count) {
    v1::SplitReport report = ReadToEnd(task, lease, 0, {MakeRun(0, first, count)});
    report.set_read_to_end(false);
    report.set_failed(count);
    v1::FailureSample& sample = *report.add_samples();
    sample.set_message(fmt::format("a.tfrecord: record {}: checksum", first));
    sample.set_step("read");
    sample.set_code(static_cast<uint32_t>(absl::StatusCode::kDataLoss));
    return report;
  }
};

TEST_F(ErrorBudgetTest, ByDefaultTheFirstFailureEndsTheJobAndIsNamed) {
  Begin();
  Beat(a, {Failing(3, 1)});
  EXPECT_EQ(Beat(client).failure().code(), static_cast<uint32_t>(absl::StatusCode::kDataLoss));
  EXPECT_THAT(Beat(client).failure().message(), HasSubstr("a.tfrecord: record 3: checksum"));
}

TEST_F(ErrorBudgetTest, AReportSentAgainCountsOnce) {
  pipeline.mutable_errors()->set_on_error(v1::ON_ERROR_SKIP);
  pipeline.mutable_errors()->set_max_errors(2);
  Begin();
  for (int i = 0; i < 5; ++i) Beat(a, {Failing(3, 2)});
  EXPECT_FALSE(Beat(client).has_failure());
  EXPECT_EQ(JobNamed().failed(), 2u);
  EXPECT_THAT(JobNamed().failures(), SizeIs(1));
  Beat(a, {Failing(9, 1)});
  EXPECT_THAT(Beat(client).failure().message(), HasSubstr("3 records failed, over max_errors: 2"));
}

TEST_F(ErrorBudgetTest, AFractionIsLookedAtFromAThousandRecordsOn) {
  pipeline.mutable_errors()->set_on_error(v1::ON_ERROR_SKIP);
  pipeline.mutable_errors()->set_max_error_fraction(0.01);
  Begin();
  Beat(a, {Failing(0, 100)});
  EXPECT_FALSE(Beat(client).has_failure());
  Beat(client, task, {MakeRun(0, 1000, 899)});
  Beat(a, {Failing(100, 1)});
  EXPECT_THAT(Beat(client).failure().message(), HasSubstr("101 of 1000 records failed"));
}

TEST_F(ErrorBudgetTest, OnlyTheFirstSamplesAreKept) {
  pipeline.mutable_errors()->set_on_error(v1::ON_ERROR_SKIP);
  Begin();
  for (uint64_t i = 0; i < 50; ++i) Beat(a, {Failing(i, 1)});
  EXPECT_THAT(JobNamed().failures(), SizeIs(20));
  EXPECT_EQ(JobNamed().failed(), 50u);
}

}  // namespace
}  // namespace headrace
