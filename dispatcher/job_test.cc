// Jobs: opening, joining, limits, ending.
#include <gmock/gmock.h>

#include "absl/time/clock.h"
#include "common/status.h"
#include "dispatcher/test_bed.h"

namespace headrace {
namespace {

using testing::HasSubstr;

class JobTest : public DispatcherBed {};

TEST_F(JobTest, TheSameNameAndPipelineJoinsWithoutListingFilesAgain) {
  const TestClient first = Open();
  const TestClient second = Open();
  EXPECT_EQ(first.job, second.job);
  EXPECT_NE(first.id, second.id);
  EXPECT_EQ(resolver.calls, 1);
  EXPECT_EQ(JobNamed().clients(), 2u);
}

TEST_F(JobTest, TheSamePipelineUnderAnotherNameInItsTextJoins) {
  const TestClient first = Open();
  pipeline.set_name("as written elsewhere");
  EXPECT_EQ(Open().job, first.job);
}

TEST_F(JobTest, AnotherPipelineUnderTheNameIsRefusedWithTheDifference) {
  pipeline.add_steps()->set_op("shuffle");
  v1::NamedValue& buffer = *pipeline.mutable_steps(0)->mutable_params()->add_entries();
  buffer.set_name("buffer");
  buffer.mutable_value()->set_integer(100);
  Open();
  buffer.mutable_value()->set_integer(50);
  const absl::Status status = Twice(&DispatcherService::OpenJob, OpenRequest()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(status.ToString(), HasSubstr("job 'job'"));
  EXPECT_THAT(status.ToString(), HasSubstr("step 1 'shuffle': buffer is 50 here, 100 there"));
}

TEST_F(JobTest, OtherOptionsUnderTheNameAreRefusedWithTheDifference) {
  Open();
  options.set_sharding(v1::SHARDING_STATIC_FILE);
  const absl::Status status = Twice(&DispatcherService::OpenJob, OpenRequest()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(status.ToString(), HasSubstr("sharding is static_file here, dynamic there"));
}

TEST_F(JobTest, ChangedFilesUnderTheNameAreRefused) {
  Open();
  resolver.set_version("v2");
  pipeline.set_name("another text");
  const absl::Status status = Twice(&DispatcherService::OpenJob, OpenRequest()).status();
  EXPECT_THAT(status.ToString(), HasSubstr("files changed"));
}

TEST_F(JobTest, AnEmptyNameIsAJobOfItsOwnEachTime) { EXPECT_NE(Open("").job, Open("").job); }

TEST_F(JobTest, AHintNeedsAShardStep) {
  options.set_sharding(v1::SHARDING_STATIC_HINT);
  const absl::Status status = Twice(&DispatcherService::OpenJob, OpenRequest()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.ToString(), HasSubstr("'shard' step"));
}

TEST_F(JobTest, LimitsNameTheirKeys) {
  config.limits.max_splits = 3;
  Restart();
  EXPECT_THAT(service->OpenJob(OpenRequest()).status().ToString(), HasSubstr("limits.max_splits"));
  config.limits = {};
  config.limits.max_jobs = 1;
  config.limits.max_clients = 2;
  config.limits.max_workers = 1;
  Restart();
  Open("a");
  EXPECT_THAT(service->OpenJob(OpenRequest("b")).status().ToString(), HasSubstr("limits.max_jobs"));
  Open("a");
  EXPECT_THAT(service->OpenJob(OpenRequest("a")).status().ToString(),
              HasSubstr("limits.max_clients"));
  AddWorker("w1:1");
  v1::RegisterWorkerRequest worker;
  worker.set_worker_uid(99);
  worker.set_address("w2:1");
  EXPECT_THAT(service->RegisterWorker(worker).status().ToString(), HasSubstr("limits.max_workers"));
  options.set_static_slots(1'000'000);
  config.limits.max_jobs = 10;
  config.limits.max_clients = 10;
  Restart();
  EXPECT_THAT(service->OpenJob(OpenRequest("c")).status().ToString(),
              HasSubstr("limits.max_static_slots"));
}

TEST_F(JobTest, TooManyRunsInAMessageAreRefused) {
  config.limits.max_runs_per_message = 10;
  Restart();
  TestClient client = Open();
  v1::ClientBeatRequest request;
  request.set_client(client.id);
  request.set_job(client.job);
  v1::TaskRuns& runs = *request.add_delivered();
  // One run, but a million parts to keep one by one.
  *runs.add_runs() = MakeRun(0, 0, 1'000'000, 0, 2);
  EXPECT_THAT(service->ClientBeat(request).status().ToString(),
              HasSubstr("limits.max_runs_per_message"));
  *runs.mutable_runs(0) = MakeRun(0, ~uint64_t{0} - 5, 100);
  EXPECT_EQ(service->ClientBeat(request).status().code(), absl::StatusCode::kOutOfRange);
}

TEST_F(JobTest, ACancelledJobTellsItsClientsAndFreesItsName) {
  TestWorker worker = AddWorker("w:1");
  TestClient client = Open();
  ASSERT_TRUE(Start(client).ok());
  const uint64_t task = TasksOf(worker).at(0);
  v1::CancelJobRequest cancel;
  cancel.set_job_name("job");
  EXPECT_TRUE(Twice(&DispatcherService::CancelJob, cancel).ok());
  const v1::ClientBeatReply reply = Beat(client);
  EXPECT_EQ(reply.failure().code(), static_cast<uint32_t>(absl::StatusCode::kCancelled));
  EXPECT_THAT(Beat(worker, {}, {task}).stop(), testing::ElementsAre(task));
  EXPECT_EQ(JobNamed().state(), "cancelled");
  EXPECT_THAT(Start(client).status().ToString(), HasSubstr("cancelled"));
  EXPECT_NE(Open().job, client.job);
  cancel.set_job_name("nobody");
  EXPECT_EQ(service->CancelJob(cancel).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(JobTest, AJobWithoutClientsEndsAfterTheGraceAndNotBefore) {
  config.job_grace = absl::Seconds(60);
  Restart();
  TestClient client = Open();
  Close(client);
  Pass(absl::Seconds(59));
  EXPECT_EQ(Open().job, client.job);
  Pass(absl::Seconds(120));  // the second client never beats: lost, then the grace
  EXPECT_EQ(JobNamed().state(), "finished");
}

TEST_F(JobTest, ManyEndedJobsAreForgotten) {
  for (int i = 0; i < 300; ++i) {
    TestClient client = Open(fmt::format("job{}", i));
    v1::CancelJobRequest cancel;
    cancel.set_job_name(fmt::format("job{}", i));
    ASSERT_TRUE(service->CancelJob(cancel).ok());
    Close(client);
  }
  EXPECT_LE(service->ListJobs({})->jobs_size(), 102);
}

TEST_F(JobTest, AHundredThousandSplitsAreOpenedQuicklyAndLeasedInOrder) {
  Use({.splits = 100'000});
  TestWorker worker = AddWorker("w:1");
  const absl::Time start = absl::Now();
  TestClient client = Open();
  ASSERT_TRUE(Start(client).ok());
  const uint64_t task = TasksOf(worker).at(0);
  uint64_t next = 0;
  for (uint64_t number = 1; next < 100'000; ++number) {
    v1::LeaseSplitsRequest request;
    request.set_worker(worker.id);
    request.set_task(task);
    request.set_request_number(number);
    request.set_want(256);
    const auto reply = service->LeaseSplits(request);
    for (const v1::Lease& lease : reply->leases()) ASSERT_EQ(lease.split().id(), next++);
  }
  EXPECT_LT(absl::Now() - start, absl::Seconds(5));
}

TEST_F(JobTest, WorkersAreListedWithTheirTasksLeasesAndState) {
  TestWorker worker = AddWorker("w:1");
  TestClient client = Open();
  ASSERT_TRUE(Start(client).ok());
  Lease(worker, TasksOf(worker).at(0), 1, 2);
  const auto reply = Twice(&DispatcherService::ListWorkers, v1::ListWorkersRequest());
  ASSERT_THAT(reply->workers(), testing::SizeIs(1));
  EXPECT_EQ(reply->workers(0).state(), "ready");
  EXPECT_EQ(reply->workers(0).tasks(), 1u);
  EXPECT_EQ(reply->workers(0).leases(), 2u);
  Pass(absl::Seconds(6));
  EXPECT_EQ(service->ListWorkers({})->workers(0).state(), "lost");
}

TEST_F(JobTest, EverythingSurvivesARestart) {
  TestWorker worker = AddWorker("w:1");
  TestClient client = Open();
  ASSERT_TRUE(Start(client).ok());
  const uint64_t task = TasksOf(worker).at(0);
  const v1::LeaseSplitsReply leased = Lease(worker, task, 1);
  Beat(client, task, {MakeRun(0, 0, 3)});
  const std::string before = service->Dump();
  Restart();
  EXPECT_EQ(service->Dump(), before);
  // The answer that may have been lost with the old process is given again.
  EXPECT_EQ(Lease(worker, task, 1).leases(0).number(), leased.leases(0).number());
  EXPECT_FALSE(Beat(worker, {}, {task}).unknown_worker());
  EXPECT_FALSE(Beat(client).unknown_client());
}

class FailingJournal final : public Journal {
 public:
  absl::Status Replay(const Reader&) override { return absl::OkStatus(); }
  uint64_t Append(std::vector<v1::Event> events) override { return position_ += events.size(); }
  absl::Status WaitDurable(uint64_t position) override {
    return position > 2 ? DataLoss("disk full") : absl::OkStatus();
  }
  bool WantsCompaction() const override { return false; }
  absl::Status Compact(uint64_t, absl::FunctionRef<bool(std::string&)>) override {
    return DataLoss("disk full");
  }

 private:
  uint64_t position_ = 0;
};

TEST_F(JobTest, AFailedJournalStopsEverything) {
  FailingJournal failing;
  DispatcherService broken(config, {&failing, &resolver, &clock, nullptr});
  EXPECT_TRUE(broken.OpenJob(OpenRequest()).ok());
  EXPECT_TRUE(broken.health().ok());
  EXPECT_EQ(broken.OpenJob(OpenRequest()).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(broken.health().ToString(), HasSubstr("disk full"));
  EXPECT_EQ(broken.ListJobs({}).status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace headrace
