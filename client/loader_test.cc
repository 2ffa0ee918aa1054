// A Loader with a scripted dispatcher and workers on a network in memory, in real time: every wait
// has a condition and a bound.
#include "client/loader.h"

#include <atomic>
#include <thread>

#include "client/loader_bed.h"
#include "client/scripted_dispatcher.h"
#include "client/test_frames.h"
#include "common/fake_clock.h"
#include "element/delivered_set.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rpc/fake_dispatcher_client.h"
#include "transport/fake_frame_network.h"
#include "transport/transport_test_peers.h"

namespace headrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using Script = ScriptedDispatcher::Script;

TEST_F(LoaderTest, ElementsComeInOrderAreReportedAndTheEpochEndsWhenTheDispatcherSaysSo) {
  Push({.first = 0, .rows = 3});
  Push({.sequence = 1, .first = 3, .rows = 2});
  auto loader = OpenInEpoch();
  EXPECT_THAT(Take(*loader, 5), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(Idle(*loader), absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(dispatcher_.Until([](const Script& s) { return s.delivered.size() == 5; }));
  dispatcher_.Set([](Script& s) { s.finished = true; });
  EXPECT_THAT(Take(*loader, 1), IsEmpty());
  EXPECT_EQ(loader->summary().delivered(), 5u);
  EXPECT_EQ(loader->Next(absl::Seconds(1)).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(loader->stats().elements, 5u);
}

DeliveredSet DeliveredIn(const v1::LoaderState& state) {
  DeliveredSet set;
  EXPECT_TRUE(set.Merge(state.delivered()).ok());
  return set;
}

TEST_F(LoaderTest, AStateHasWhatWasHandedOverAndNotWhatIsHeld) {
  v1::SplitSpan need;
  need.set_split(0);
  need.add_numbers(8);
  dispatcher_.Set([&](Script& s) { s.needs = {need}; });
  Push({.first = 0, .rows = 4});
  Push({.sequence = 1, .first = 4, .rows = 4});
  auto loader = OpenInEpoch();
  EXPECT_TRUE(DeliveredIn(loader->State()).empty());
  EXPECT_THAT(Take(*loader, 3), ElementsAre(0, 1, 2));
  const v1::LoaderState state = loader->State();
  EXPECT_EQ(state.epoch(), 0u);
  EXPECT_EQ(state.fingerprint(), "print");
  EXPECT_EQ(state.dataset_version(), "v1");
  EXPECT_TRUE(DeliveredIn(state).Contains({0, 0, 3}));
  EXPECT_EQ(DeliveredIn(state).records(), 3u);
  EXPECT_EQ(loader->State().SerializeAsString(), state.SerializeAsString());
  EXPECT_THAT(Take(*loader, 5), ElementsAre(3, 4, 5, 6, 7));
  ASSERT_TRUE(dispatcher_.Until([](const Script& s) { return s.delivered.size() == 8; }));
  uint64_t needed = 0;
  for (int i = 0; i < 1000 && needed == 0; ++i) {
    absl::SleepFor(absl::Milliseconds(2));
    DeliveredIn(loader->State()).ForEachNeed([&](uint64_t, uint32_t, uint64_t n) { needed = n; });
  }
  EXPECT_EQ(needed, 8u);
  dispatcher_.Set([](Script& s) { s.finished = true; });
  EXPECT_THAT(Take(*loader, 1), IsEmpty());
  EXPECT_EQ(loader->State().epoch(), 1u);
  EXPECT_TRUE(DeliveredIn(loader->State()).empty());
}

TEST_F(LoaderTest, LoadedStatesAreHandedInBeforeTheEpochBeginsAndCarriedOn) {
  DeliveredSet before;
  before.Add({5, 0, 10});
  stream_options_.rank = 1;
  stream_options_.job_options.set_world_size(2);
  dispatcher_.Set([&](Script& s) {
    s.incarnation = 8;
    s.restore_reply.set_ready(true);
    s.restore_reply.set_incarnation(9);
    s.restore_reply.set_epoch(3);
    *s.restore_reply.mutable_carried() = before.Encode();
  });
  Push({.epoch = 3, .first = 0, .rows = 2});
  auto loader = Open();
  ASSERT_TRUE(loader.ok());
  v1::LoaderState state = (*loader)->State();
  state.set_reader(0);
  ASSERT_TRUE((*loader)->LoadStates({state, state}).ok());
  ASSERT_TRUE((*loader)->StartEpoch().ok());
  EXPECT_THAT(Take(**loader, 1), ElementsAre(0));
  const Script script = dispatcher_.Look();
  ASSERT_EQ(script.restores.size(), 1u);
  EXPECT_EQ(script.restores[0].states_size(), 2);
  EXPECT_EQ(script.restores[0].reader(), 1u);
  EXPECT_EQ(script.restores[0].readers(), 2u);
  EXPECT_EQ(script.restores[0].incarnation(), 8u);
  EXPECT_EQ(script.starts.back().epoch(), 3u);
  EXPECT_EQ(script.starts.back().incarnation(), 9u);
  const DeliveredSet after = DeliveredIn((*loader)->State());
  EXPECT_TRUE(after.Contains({5, 0, 10}));
  EXPECT_TRUE(after.Contains({0, 0, 1}));
  EXPECT_EQ(after.records(), 11u);
}

TEST_F(LoaderTest, ARestoreThatWaitsForOthersSaysForWhom) {
  dispatcher_.Set([](Script& s) { s.restore_reply.add_missing(1); });
  stream_options_.job_options.set_world_size(2);
  auto loader = Open();
  ASSERT_TRUE(loader.ok());
  ASSERT_TRUE((*loader)->LoadStates({(*loader)->State()}).ok());
  const absl::Status waits = (*loader)->StartEpoch(std::nullopt, absl::Milliseconds(300));
  EXPECT_EQ(waits.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(waits.message()), HasSubstr("readers 1 of 2"));
  const Script script = dispatcher_.Look();
  EXPECT_GT(script.restores.size(), 1u);
  EXPECT_EQ(script.restores[0].states_size(), 1);
  EXPECT_EQ(script.restores[1].states_size(), 0);
}

TEST_F(LoaderTest, DamagedStatesAreRefusedAtOnce) {
  auto loader = Open();
  ASSERT_TRUE(loader.ok());
  EXPECT_FALSE((*loader)->LoadStates({}).ok());
  v1::LoaderState state = (*loader)->State();
  state.set_version(2);
  EXPECT_THAT(std::string((*loader)->LoadStates({state}).message()), HasSubstr("version 2"));
  state.set_version(1);
  state.mutable_delivered()->add_open()->set_records("?");
  EXPECT_THAT(std::string((*loader)->LoadStates({state}).message()), HasSubstr("Roaring"));
}

TEST_F(LoaderTest, ATrainerWhoseJobBeganAnotherLifeMeanwhileIsToldThatItWasReplaced) {
  dispatcher_.Set([](Script& s) { s.incarnation = 8; });
  Push({.first = 0, .rows = 3});
  auto loader = OpenInEpoch();
  EXPECT_THAT(Take(*loader, 1), ElementsAre(0));
  dispatcher_.Set([](Script& s) {
    s.incarnation = 9;
    s.unknown = true;
  });
  absl::Status status;
  while (status.ok()) status = loader->Next(absl::Seconds(20)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(std::string(status.message()), HasSubstr("replaced"));
}

TEST_F(LoaderTest, ATrainerThatWaitsBeatsSoonButNotAllTheTime) {
  auto loader = OpenInEpoch();
  // Each element is followed by a wait: the report goes out long before the usual 60 s.
  for (uint64_t i = 0; i < 20; ++i) {
    Push({.sequence = i, .first = i});
    EXPECT_THAT(Take(*loader, 1), ElementsAre(static_cast<int64_t>(i)));
  }
  EXPECT_EQ(Idle(*loader), absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(dispatcher_.Until([](const Script& s) { return s.delivered.size() == 20; }));
}

TEST_F(LoaderTest, AFenceDropsWhatIsHeldAndIsConfirmedWithAllThatWasHandedOver) {
  Push({.first = 0, .rows = 4});
  Push({.sequence = 1, .first = 4, .rows = 4});
  auto loader = OpenInEpoch();
  EXPECT_THAT(Take(*loader, 2), ElementsAre(0, 1));
  dispatcher_.Set([](Script& s) { s.fences.insert(1); });
  ASSERT_TRUE(dispatcher_.Until([](const Script& s) { return s.confirmed.contains(1); }));
  EXPECT_THAT(dispatcher_.Look().delivered_at_confirmation, UnorderedElementsAre(0, 1));
  Push({.sequence = 2, .first = 8});
  EXPECT_EQ(Idle(*loader), absl::StatusCode::kDeadlineExceeded);
  // Its records come again from another task.
  Push({.task = 2, .first = 2, .rows = 2});
  dispatcher_.Set([](Script& s) {
    s.tasks = {{2, "worker:1"}};
    ++s.tasks_version;
  });
  EXPECT_THAT(Take(*loader, 2), ElementsAre(2, 3));
}

TEST_F(LoaderTest, ABrokenStreamIsReportedUntilItsTaskIsFenced) {
  Push({.first = 0});
  auto loader = OpenInEpoch();
  EXPECT_THAT(Take(*loader, 1), ElementsAre(0));
  network_.BreakStreams("worker:1");
  ASSERT_TRUE(dispatcher_.Until([](const Script& s) { return s.broken.contains(1); }));
  dispatcher_.Set([](Script& s) { s.fences.insert(1); });
  ASSERT_TRUE(dispatcher_.Until([](const Script& s) {
    return s.confirmed.contains(1) && s.last_beat.broken_tasks_size() == 0;
  }));
}

TEST_F(LoaderTest, AGapInTheSequenceIsABrokenStream) {
  Push({.sequence = 0, .first = 0});
  Push({.sequence = 2, .first = 2});
  auto loader = OpenInEpoch();
  EXPECT_THAT(Take(*loader, 1), ElementsAre(0));
  EXPECT_EQ(Idle(*loader), absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(dispatcher_.Until([](const Script& s) { return s.broken.contains(1); }));
}

TEST_F(LoaderTest, AnOrderlyEndIsNoBreak) {
  Push({.first = 0});
  worker_.FinishAfterLast(1);
  auto loader = OpenInEpoch();
  EXPECT_THAT(Take(*loader, 1), ElementsAre(0));
  EXPECT_EQ(Idle(*loader), absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(dispatcher_.Look().broken.empty());
}

TEST_F(LoaderTest, AWorkerThatDoesNotKnowTheTaskYetIsTriedAgain) {
  worker_.Refuse(absl::FailedPreconditionError("task 1 is not known here"));
  auto loader = OpenInEpoch();
  EXPECT_EQ(Idle(*loader), absl::StatusCode::kDeadlineExceeded);
  worker_.Refuse(absl::OkStatus());
  Push({.first = 0});
  EXPECT_THAT(Take(*loader, 1), ElementsAre(0));
  EXPECT_TRUE(dispatcher_.Look().broken.empty());
}

TEST_F(LoaderTest, AClientThatWasGivenUpOpensAgainAndHandsOverNothingOld) {
  Push({.first = 0, .rows = 5});
  auto loader = OpenInEpoch();
  EXPECT_THAT(Take(*loader, 1), ElementsAre(0));
  Push({.task = 2, .first = 1});
  dispatcher_.Set([](Script& s) {
    s.unknown = true;
    s.tasks = {{2, "worker:1"}};
    ++s.tasks_version;
  });
  ASSERT_TRUE(dispatcher_.Until([](const Script& s) { return s.starts.size() == 2; }));
  EXPECT_THAT(Take(*loader, 1), ElementsAre(1));
  EXPECT_EQ(Idle(*loader), absl::StatusCode::kDeadlineExceeded);
  const Script script = dispatcher_.Look();
  ASSERT_EQ(script.opens.size(), 2u);
  EXPECT_EQ(script.opens[0].client_uid(), script.opens[1].client_uid());
  EXPECT_EQ(script.starts[1].client(), 101u);
  // What it had handed over before is reported all the same.
  EXPECT_TRUE(dispatcher_.Until([](const Script& s) { return s.delivered.contains(0); }));
}

// Ids begin with 1 in every journal: job 7 of another one is another job.
TEST_F(LoaderTest, ADispatcherThatLostItsJournalEndsTheJobAndSaysSo) {
  auto loader = OpenInEpoch();
  dispatcher_.Set([](Script& s) {
    s.unknown = true;
    s.cluster = 6;
  });
  const auto next = loader->Next(absl::Seconds(20));
  EXPECT_EQ(next.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(next.status().message().find("does not have the journal"), absl::string_view::npos)
      << next.status();
  // What opening the job again made there is closed, under that dispatcher's name.
  ASSERT_TRUE(dispatcher_.Until([](const Script& s) { return !s.closes.empty(); }));
  EXPECT_EQ(dispatcher_.Look().closes[0].cluster(), 6u);
  EXPECT_EQ(dispatcher_.Look().starts[0].cluster(), 5u);
}

TEST_F(LoaderTest, AnEpochThatIsOverWhenTheClientComesBackEnds) {
  auto loader = OpenInEpoch();
  dispatcher_.Set([](Script& s) {
    s.unknown = true;
    s.start_epoch = absl::OutOfRangeError("epoch 0 is over");
  });
  EXPECT_THAT(Take(*loader, 1), IsEmpty());
}

TEST_F(LoaderTest, ADispatcherThatIsAwayIsRiddenThrough) {
  Push({.first = 0, .rows = 2});
  auto loader = OpenInEpoch();
  EXPECT_THAT(Take(*loader, 1), ElementsAre(0));
  dispatcher_.Set([](Script& s) { s.down = true; });
  EXPECT_THAT(Take(*loader, 1), ElementsAre(1));
  Push({.sequence = 1, .first = 2});
  EXPECT_THAT(Take(*loader, 1), ElementsAre(2));
  dispatcher_.Set([](Script& s) { s.down = false; });
  EXPECT_TRUE(dispatcher_.Until([](const Script& s) { return s.delivered.size() == 3; }));
}

TEST_F(LoaderTest, ADispatcherThatStaysAwayIsAnError) {
  client_options_.outage_timeout = absl::Milliseconds(300);
  auto loader = OpenInEpoch();
  dispatcher_.Set([](Script& s) { s.down = true; });
  const auto next = loader->Next(absl::Seconds(20));
  EXPECT_EQ(next.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(next.status().message()), HasSubstr("has not answered for"));
}

TEST_F(LoaderTest, NothingIsHandedOverWhileTheDispatcherMayHaveGivenUsUp) {
  FakeClock clock;
  clock_ = &clock;
  dispatcher_.Set([](Script& s) { s.client_timeout_ms = 200; });
  Push({.first = 0, .rows = 3});
  auto loader = OpenInEpoch();
  EXPECT_THAT(Take(*loader, 1), ElementsAre(0));
  dispatcher_.Set([](Script& s) { s.down = true; });
  clock.Advance(absl::Milliseconds(190));
  EXPECT_THAT(Take(*loader, 1), ElementsAre(1));
  clock.Advance(absl::Milliseconds(50));
  EXPECT_EQ(loader->Next(absl::ZeroDuration()).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_GT(loader->stats().held_bytes, 0u);
  dispatcher_.Set([](Script& s) {
    s.down = false;
    s.beats = 0;
  });
  clock.Advance(absl::Milliseconds(50));
  ASSERT_TRUE(dispatcher_.Until([](const Script& s) { return s.beats > 0; }));
  EXPECT_THAT(Take(*loader, 1), ElementsAre(2));
}

TEST_F(LoaderTest, AJobThatFailsIsTheErrorOfNext) {
  auto loader = OpenInEpoch();
  dispatcher_.Set([](Script& s) { s.failure = absl::DataLossError("a.tfrecord: record 7"); });
  const auto next = loader->Next(absl::Seconds(20));
  EXPECT_EQ(next.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(next.status().message()), HasSubstr("record 7"));
  EXPECT_EQ(loader->StartEpoch().code(), absl::StatusCode::kDataLoss);
}

TEST_F(LoaderTest, AFrameOverTheLimitIsAnErrorNotARetryWithoutEnd) {
  Push({.padding = 11 << 20});
  auto loader = OpenInEpoch();
  const auto next = loader->Next(absl::Seconds(20));
  EXPECT_EQ(next.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(next.status().message()), HasSubstr("transport.max_frame_bytes"));
}

TEST_F(LoaderTest, ADamagedFrameIsAnError) {
  worker_.Push(1, MarkedFrame(3, 100));
  auto loader = OpenInEpoch();
  const auto next = loader->Next(absl::Seconds(20));
  EXPECT_EQ(next.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(next.status().message()), HasSubstr("a frame of task 1"));
}

TEST_F(LoaderTest, FramesLargerThanTheBudgetComeOneAtATime) {
  stream_options_.prefetch_bytes = 1;
  for (uint64_t i = 0; i < 20; ++i) Push({.sequence = i, .first = i, .padding = 1 << 20});
  auto loader = OpenInEpoch();
  for (uint64_t i = 0; i < 20; ++i) {
    EXPECT_THAT(Take(*loader, 1), ElementsAre(static_cast<int64_t>(i)));
    EXPECT_LE(loader->stats().held_bytes, (1u << 20) + 4096);
  }
}

TEST_F(LoaderTest, PrefetchStopsAtTheBudget) {
  stream_options_.prefetch_bytes = 1 << 20;
  for (uint64_t i = 0; i < 100; ++i) Push({.sequence = i, .first = i, .padding = 100'000});
  auto loader = OpenInEpoch();
  const absl::Time deadline = absl::Now() + absl::Seconds(20);
  while (loader->stats().held_bytes < (900u << 10) && absl::Now() < deadline) {
    absl::SleepFor(absl::Milliseconds(1));  // polls a figure that signals nothing
  }
  EXPECT_GE(loader->stats().held_bytes, 900u << 10);
  EXPECT_GT(worker_.queued(1), 85u);
  EXPECT_LE(loader->stats().held_bytes, (1u << 20) + 101'000);
  EXPECT_EQ(Take(*loader, 100).size(), 100u);
}

TEST_F(LoaderTest, AnEpochLeftEarlyIsAbandonedByItsOnlyReader) {
  Push({.first = 0, .rows = 5});
  auto loader = OpenInEpoch();
  EXPECT_EQ(Take(*loader, 2).size(), 2u);
  Push({.task = 2, .epoch = 1, .first = 0});
  dispatcher_.Set([](Script& s) {
    s.tasks = {{2, "worker:1"}};
    ++s.tasks_version;
  });
  ASSERT_TRUE(loader->StartEpoch().ok());
  EXPECT_EQ(loader->epoch(), 1u);
  EXPECT_THAT(Take(*loader, 1), ElementsAre(0));
  const Script script = dispatcher_.Look();
  EXPECT_TRUE(script.starts.back().abandon_unfinished());
  EXPECT_EQ(script.starts.back().epoch(), 1u);
  EXPECT_TRUE(script.closes.empty());
}

TEST_F(LoaderTest, AnEpochThatOthersReadIsLeftByComingBackAsANewClient) {
  Push({.first = 0, .rows = 5});
  auto loader = OpenInEpoch();
  EXPECT_EQ(Take(*loader, 2).size(), 2u);
  dispatcher_.Set(
      [](Script& s) { s.start_epoch = absl::FailedPreconditionError("other clients read it"); });
  const absl::Status waits = loader->StartEpoch(std::nullopt, absl::Milliseconds(200));
  EXPECT_EQ(waits.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(waits.message()), HasSubstr("other clients read it"));
  Script script = dispatcher_.Look();
  ASSERT_EQ(script.closes.size(), 1u);
  EXPECT_THAT(script.delivered, UnorderedElementsAre(0, 1));
  ASSERT_EQ(script.opens.size(), 2u);
  EXPECT_NE(script.opens[0].client_uid(), script.opens[1].client_uid());
  EXPECT_EQ(loader->Next(absl::ZeroDuration()).status().code(),
            absl::StatusCode::kFailedPrecondition);
  dispatcher_.Set([](Script& s) { s.start_epoch = absl::OkStatus(); });
  EXPECT_TRUE(loader->StartEpoch().ok());
  EXPECT_EQ(loader->epoch(), 1u);
}

TEST_F(LoaderTest, BeginningTheEpochThatIsBeingReadGoesOnWithIt) {
  Push({.first = 0, .rows = 3});
  auto loader = OpenInEpoch();
  EXPECT_THAT(Take(*loader, 1), ElementsAre(0));
  EXPECT_TRUE(loader->StartEpoch(0).ok());
  EXPECT_THAT(Take(*loader, 2), ElementsAre(1, 2));
}

TEST_F(LoaderTest, CloseReportsWakesAWaitingNextAndIsIdempotent) {
  Push({.first = 0});
  auto loader = OpenInEpoch();
  EXPECT_THAT(Take(*loader, 1), ElementsAre(0));
  absl::Status woken;
  std::thread waiting([&] { woken = loader->Next(absl::Seconds(60)).status(); });
  ASSERT_TRUE(dispatcher_.Until([](const Script& s) { return s.delivered.contains(0); }));
  loader->Close(absl::Seconds(5));
  waiting.join();
  EXPECT_EQ(woken.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(woken.message()), HasSubstr("closed"));
  loader->Close(absl::Seconds(5));
  EXPECT_EQ(dispatcher_.Look().closes.size(), 1u);
  EXPECT_EQ(loader->StartEpoch().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(LoaderTest, CloseWhileTheDispatcherIsAwayIsQuick) {
  auto loader = OpenInEpoch();
  dispatcher_.Set([](Script& s) { s.down = true; });
  const absl::Time before = absl::Now();
  loader.reset();
  EXPECT_LT(absl::Now() - before, absl::Seconds(3));
}

TEST_F(LoaderTest, AnElementOutlivesItsLoader) {
  Push({.first = 42});
  auto loader = OpenInEpoch();
  auto next = loader->Next(absl::Seconds(20));
  ASSERT_TRUE(next.ok() && next->has_value());
  loader.reset();
  EXPECT_EQ((*next)->at(0).as<int64_t>()[0], 42);
}

}  // namespace
}  // namespace headrace
