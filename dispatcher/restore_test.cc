// A checkpoint is gone on with: which states are taken, what becomes of earlier lives of a job.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dispatcher/test_bed.h"
#include "element/delivered_set.h"
#include "element/pipeline_sketch.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class RestoreTest : public DispatcherBed {
 protected:
  v1::LoaderState Saved(std::vector<headrace::Run> runs, uint32_t reader = 0, uint32_t readers = 1,
                        uint64_t epoch = 0) {
    DeliveredSet delivered;
    for (const headrace::Run& run : runs) delivered.Add(run);
    v1::LoaderState state;
    state.set_version(1);
    *state.mutable_pipeline() = SketchOf(pipeline);
    v1::PipelineDef nameless = pipeline;
    nameless.clear_name();
    state.set_fingerprint(nameless.SerializeAsString());
    state.set_dataset_version("v1");
    state.set_epoch(epoch);
    state.set_reader(reader);
    state.set_readers(readers);
    *state.mutable_delivered() = delivered.Encode();
    return state;
  }
  v1::RestoreJobRequest Request(const TestClient& client, std::vector<v1::LoaderState> states,
                                uint32_t reader = 0, uint32_t readers = 1) {
    v1::RestoreJobRequest request;
    request.set_client(client.id);
    request.set_job(client.job);
    request.set_reader(reader);
    request.set_readers(readers);
    request.set_incarnation(incarnation);
    request.mutable_states()->Assign(states.begin(), states.end());
    return request;
  }
  absl::StatusOr<v1::RestoreJobReply> Restore(const TestClient& client,
                                              std::vector<v1::LoaderState> states,
                                              uint32_t reader = 0, uint32_t readers = 1) {
    return service->RestoreJob(Request(client, std::move(states), reader, readers));
  }
  TestClient OpenHere() {
    const auto reply = service->OpenJob(OpenRequest());
    EXPECT_TRUE(reply.ok()) << reply.status();
    incarnation = reply->incarnation();
    return {reply->client(), reply->job(), reply->next_epoch(), 0};
  }
  static std::string SkipOf(const v1::Lease& lease) {
    std::string text;
    for (const v1::Run& run : lease.skip())
      text += fmt::format("[{}+{}]", run.first(), run.count());
    return text;
  }
  std::string Refusal(v1::LoaderState state) {
    const auto reply = Restore(OpenHere(), {std::move(state)});
    EXPECT_EQ(reply.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(reply.status().message());
  }
  uint64_t incarnation = 0;
};

TEST_F(RestoreTest, WhatWasDeliveredIsLeftOutOnADispatcherThatKnewNothing) {
  TestClient client = OpenHere();
  const auto reply = Twice(&DispatcherService::RestoreJob,
                           Request(client, {Saved({{0, 0, 5}, {2, 3, 1}}, 0, 1, 4)}));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_TRUE(reply->ready());
  EXPECT_EQ(reply->epoch(), 4u);
  EXPECT_NE(reply->incarnation(), incarnation);
  DeliveredSet carried;
  ASSERT_TRUE(carried.Merge(reply->carried()).ok());
  EXPECT_EQ(carried.records(), 6u);
  EXPECT_EQ(Start(client, 3).status().code(), absl::StatusCode::kOutOfRange);
  ASSERT_TRUE(Start(client, 4).ok());
  TestWorker worker = AddWorker("a:1");
  service->RunDuties();
  const uint64_t task = TasksOf(worker).at(0);
  const v1::LeaseSplitsReply leases = Lease(worker, task, 1, 10);
  ASSERT_THAT(leases.leases(), SizeIs(4));
  EXPECT_EQ(SkipOf(leases.leases(0)), "[0+5]");
  EXPECT_EQ(SkipOf(leases.leases(1)), "");
  EXPECT_EQ(SkipOf(leases.leases(2)), "[3+1]");
  const v1::JobStatus status = JobNamed();
  ASSERT_THAT(status.epochs(), SizeIs(1));
  EXPECT_EQ(status.epochs(0).epoch(), 4u);
  EXPECT_EQ(status.epochs(0).restored(), 6u);
  EXPECT_EQ(status.epochs(0).skipped(), 6u);
  EXPECT_EQ(status.epochs(0).leased_splits(), 4u);
  // The ledger is whole after a restart of the dispatcher.
  const std::string before = service->Dump();
  Restart();
  EXPECT_EQ(service->Dump(), before);
}

TEST_F(RestoreTest, ASplitThatIsKnownToBeWholeIsNotReadAgain) {
  v1::LoaderState state = Saved({{0, 0, 3}, {1, 0, 3}, {3, 0, 2}});
  v1::SplitSpan& needs = *state.mutable_delivered()->add_needs();
  for (const uint64_t need : {3, 4, 0, 2}) needs.add_numbers(need);
  TestClient client = OpenHere();
  ASSERT_TRUE(Restore(client, {state})->ready());
  ASSERT_TRUE(Start(client, 0).ok());
  TestWorker worker = AddWorker("a:1");
  service->RunDuties();
  const uint64_t task = TasksOf(worker).at(0);
  const v1::LeaseSplitsReply leases = Lease(worker, task, 1, 10);
  ASSERT_THAT(leases.leases(), SizeIs(1));  // of split 1 a record is missing; split 2 had none
  EXPECT_EQ(leases.leases(0).split().id(), 1u);
  Beat(worker, {ReadToEnd(task, leases.leases(0), 4)});
  EXPECT_TRUE(Beat(client, task, {MakeRun(1, 3, 1)}).epoch_finished());
}

TEST_F(RestoreTest, ClientsHearWhatRetiredSplitsNeed) {
  TestClient client = Open();
  ASSERT_TRUE(Start(client).ok());
  TestWorker worker = AddWorker("a:1");
  service->RunDuties();
  const uint64_t task = TasksOf(worker).at(0);
  const v1::LeaseSplitsReply leases = Lease(worker, task, 1, 2);
  Beat(worker, {ReadToEnd(task, leases.leases(0), 5, {MakeRun(0, 1, 2)}),
                ReadToEnd(task, leases.leases(1), 1)});
  const v1::ClientBeatReply reply =
      Beat(client, task, {MakeRun(0, 0, 1), MakeRun(0, 3, 2), MakeRun(1, 0, 1)});
  ASSERT_THAT(reply.needs(), SizeIs(1));
  EXPECT_THAT(reply.needs(0).numbers(), ElementsAre(3, 1));
  EXPECT_EQ(reply.needs_seen(), 2u);
}

TEST_F(RestoreTest, TheNewLifeBeginsWhenAllReadersHaveComeAndStillAsk) {
  TestClient first = OpenHere();
  TestClient second = OpenHere();
  auto reply = Restore(first, {Saved({{0, 0, 1}}, 0, 2)}, 0, 2);
  ASSERT_TRUE(reply.ok());
  EXPECT_FALSE(reply->ready());
  EXPECT_THAT(reply->missing(), ElementsAre(1));
  EXPECT_FALSE(Restore(second, {Saved({{1, 0, 1}}, 1, 2)}, 1, 2)->ready());
  EXPECT_TRUE(Restore(first, {}, 0, 2)->ready());
  reply = Restore(second, {}, 1, 2);
  EXPECT_TRUE(reply->ready());
  // Each carries its part of what was restored.
  DeliveredSet all;
  ASSERT_TRUE(all.Merge(reply->carried()).ok());
  EXPECT_TRUE(all.Contains({1, 0, 1}));
  EXPECT_FALSE(all.Contains({0, 0, 1}));
  ASSERT_TRUE(all.Merge(Restore(first, {}, 0, 2)->carried()).ok());
  EXPECT_EQ(all.records(), 2u);
}

TEST_F(RestoreTest, AReaderThatHearsOfItLateHasThatEpochAllTheSame) {
  TestClient first = OpenHere();
  TestClient second = OpenHere();
  (void)Restore(second, {Saved({}, 1, 2, 5)}, 1, 2);
  (void)Restore(first, {Saved({}, 0, 2, 5)}, 0, 2);
  (void)Restore(second, {}, 1, 2);
  ASSERT_TRUE(Restore(first, {}, 0, 2)->ready());
  ASSERT_TRUE(Start(first, 5).ok());
  TestWorker worker = AddWorker("a:1");
  service->RunDuties();
  const uint64_t task = TasksOf(worker).at(0);
  std::vector<v1::SplitReport> reports;
  const v1::LeaseSplitsReply leases = Lease(worker, task, 1, 10);
  for (const v1::Lease& lease : leases.leases()) {
    reports.push_back(ReadToEnd(task, lease, 0));
  }
  Beat(worker, reports);
  EXPECT_TRUE(Beat(first).epoch_finished());
  const auto reply = Restore(second, {}, 1, 2);
  EXPECT_TRUE(reply->ready());
  EXPECT_EQ(reply->epoch(), 5u);
  ASSERT_TRUE(Start(second, 5).ok());
  EXPECT_TRUE(Beat(second).epoch_finished());
}

TEST_F(RestoreTest, AReaderThatDiedWhileItWaitedIsNoPartOfTheNewLife) {
  TestClient dead = OpenHere();
  EXPECT_FALSE(Restore(dead, {Saved({}, 0, 2)}, 0, 2)->ready());
  TestClient second = OpenHere();
  EXPECT_FALSE(Restore(second, {Saved({}, 1, 2)}, 1, 2)->ready());
  EXPECT_FALSE(Restore(second, {}, 1, 2)->ready());
  TestClient first = OpenHere();  // its successor
  EXPECT_FALSE(Restore(first, {Saved({}, 0, 2)}, 0, 2)->ready());
  EXPECT_TRUE(Restore(second, {}, 1, 2)->ready());
  EXPECT_TRUE(Restore(first, {}, 0, 2)->ready());
  v1::RestoreJobRequest late = Request(dead, {}, 0, 2);
  EXPECT_FALSE(service->RestoreJob(late).ok());
}

TEST_F(RestoreTest, AfterACrashTheSameCheckpointBeginsAnotherLife) {
  TestClient client = OpenHere();
  ASSERT_TRUE(Restore(client, {Saved({{0, 0, 1}})})->ready());
  ASSERT_TRUE(Start(client, 0).ok());
  TestWorker worker = AddWorker("a:1");
  service->RunDuties();
  const uint64_t task = TasksOf(worker).at(0);
  Lease(worker, task, 1, 1);
  Beat(client, task, {MakeRun(0, 1, 7)});
  TestClient next = OpenHere();  // the first one is dead, and nobody knows it yet
  ASSERT_TRUE(Restore(next, {Saved({{0, 0, 1}})})->ready());
  EXPECT_TRUE(Lease(worker, task, 2, 1).unknown_task());
  ASSERT_TRUE(Start(next, 0).ok());
  const v1::LeaseSplitsReply leases = Lease(worker, TasksOf(worker).at(0), 1, 1);
  ASSERT_THAT(leases.leases(), SizeIs(1));
  EXPECT_EQ(SkipOf(leases.leases(0)), "[0+1]");
}

TEST_F(RestoreTest, ATrainerOfAnEarlierLifeIsToldAndItsReportsMeanNothing) {
  TestClient old = OpenHere();
  const uint64_t old_life = incarnation;
  ASSERT_TRUE(Start(old).ok());
  TestWorker worker = AddWorker("a:1");
  service->RunDuties();
  const uint64_t task = TasksOf(worker).at(0);
  Lease(worker, task, 1, 1);
  TestClient next = OpenHere();
  ASSERT_TRUE(Restore(next, {Saved({})})->ready());
  ASSERT_TRUE(Start(next, 0).ok());
  v1::ClientBeatRequest beat;
  beat.set_client(old.id);
  beat.set_job(old.job);
  beat.set_incarnation(old_life);
  v1::TaskRuns& runs = *beat.add_delivered();
  runs.set_task(task);
  *runs.add_runs() = MakeRun(0, 0, 3);
  const auto told = Twice(&DispatcherService::ClientBeat, beat);
  ASSERT_TRUE(told.ok());
  EXPECT_EQ(told->failure().code(), static_cast<uint32_t>(absl::StatusCode::kCancelled));
  EXPECT_THAT(told->failure().message(), HasSubstr("replaced"));
  EXPECT_EQ(JobNamed().delivered(), 0u);
  // Also where a dispatcher without memory gave its number to another.
  beat.set_client(next.id);
  EXPECT_TRUE(service->ClientBeat(beat)->has_failure());
  v1::StartEpochRequest start;
  start.set_client(next.id);
  start.set_job(next.job);
  start.set_incarnation(old_life);
  EXPECT_EQ(service->StartEpoch(start).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(RestoreTest, StatesOfSomethingElseAreRefusedWithTheDifference) {
  v1::Step& step = *pipeline.add_steps();
  step.set_op("shuffle");
  v1::NamedValue& buffer = *step.mutable_params()->add_entries();
  buffer.set_name("buffer");
  buffer.mutable_value()->set_integer(100);
  pipeline.set_seed(7);
  const v1::LoaderState good = Saved({{0, 0, 1}});
  v1::LoaderState bad = good;
  bad.mutable_pipeline()
      ->mutable_steps(0)
      ->mutable_params()
      ->mutable_entries(0)
      ->mutable_value()
      ->set_integer(50);
  EXPECT_THAT(Refusal(bad), HasSubstr("step 1 'shuffle': buffer is 100 now, 50 in the state"));
  bad = good;
  bad.mutable_pipeline()->set_seed(8);
  EXPECT_THAT(Refusal(bad), HasSubstr("seed is 7 now, 8 in the state"));
  bad = good;
  bad.set_dataset_version("v0");
  EXPECT_THAT(Refusal(bad), HasSubstr("version v1 now, v0 in the state"));
  bad = good;
  bad.set_fingerprint("other");
  EXPECT_THAT(Refusal(bad), HasSubstr("another version"));
  bad = good;
  bad.set_version(9);
  EXPECT_THAT(Refusal(bad), HasSubstr("version 9"));
  bad = good;
  bad.mutable_delivered()->mutable_prefixes(0)->set_split(4);
  EXPECT_THAT(Refusal(bad), HasSubstr("split 4"));
  bad = good;
  bad.mutable_delivered()->add_open()->set_records("x");
  EXPECT_THAT(Refusal(bad), HasSubstr("Roaring"));
  bad = good;
  bad.set_readers(3);
  EXPECT_THAT(Refusal(bad), HasSubstr("1 of the 3 readers that saved"));
  EXPECT_TRUE(Restore(OpenHere(), {good})->ready());
}

TEST_F(RestoreTest, StatesOfTwoCheckpointsAreRefused) {
  TestClient first = OpenHere();
  TestClient second = OpenHere();
  ASSERT_TRUE(Restore(first, {Saved({{0, 0, 1}}, 0, 2), Saved({}, 1, 2)}, 0, 2).ok());
  const auto reply = Restore(second, {Saved({{0, 0, 2}}, 0, 2), Saved({}, 1, 2)}, 1, 2);
  EXPECT_THAT(std::string(reply.status().message()), HasSubstr("two different states of reader 0"));
}

TEST_F(RestoreTest, AStateFromBeforeTheLastEpochsEndHasNothingOfTheNext) {
  TestClient client = OpenHere();
  const auto reply = Restore(client, {Saved({{0, 0, 9}}, 0, 2, 1), Saved({{1, 0, 2}}, 1, 2, 2)});
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->epoch(), 2u);
  DeliveredSet carried;
  ASSERT_TRUE(carried.Merge(reply->carried()).ok());
  EXPECT_EQ(carried.records(), 2u);
}

TEST_F(RestoreTest, TheNumberOfRanksMayChangeOnlyWithARestore) {
  options.set_world_size(2);
  TestClient old = OpenHere();
  ASSERT_TRUE(Start(old).ok());
  options.set_world_size(3);
  TestClient client = OpenHere();
  const auto refused = Start(client);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("world_size is 3 here, 2 there"));
  ASSERT_TRUE(Restore(client, {Saved({}, 0, 2), Saved({}, 1, 2)})->ready());
  EXPECT_TRUE(Start(client).ok());
}

TEST_F(RestoreTest, CountingStepsReplayAndLeaveOutWhatWasDelivered) {
  Use({.splits = 2, .single_task = true});
  v1::LoaderState state = Saved({{0, 0, 3}});
  state.mutable_delivered()->add_needs()->add_numbers(3);
  TestClient client = OpenHere();
  ASSERT_TRUE(Restore(client, {state})->ready());
  ASSERT_TRUE(Start(client, 0).ok());
  TestWorker worker = AddWorker("a:1");
  service->RunDuties();
  const v1::WorkerBeatReply reply = Beat(worker);
  ASSERT_THAT(reply.start(), SizeIs(1));
  EXPECT_TRUE(reply.start(0).replay());
  const v1::LeaseSplitsReply leases = Lease(worker, reply.start(0).task(), 1, 10);
  ASSERT_THAT(leases.leases(), SizeIs(2));
  EXPECT_EQ(SkipOf(leases.leases(0)), "[0+3]");
}

}  // namespace
}  // namespace headrace
