// `uneven` other than free: what is granted, and when the end is decided.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dispatcher/test_bed.h"

namespace headrace {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class StepsTest : public DispatcherBed {
 protected:
  struct Held {
    uint64_t handed = 0;
    uint64_t sure = 0;
    uint64_t held = 0;
    uint64_t records = 0;
  };
  void Begin(v1::Uneven uneven) {
    Use({.splits = 2, .batched = true});
    options.set_world_size(2);
    options.set_uneven(uneven);
    a = OpenRank(0);
    worker = AddWorker("a:1");
    ASSERT_TRUE(Start(a).ok());
    task = TasksOf(worker).at(0);
    for (const v1::Lease& lease : LeasesOf()) {
      // Each split one batch of two records, and one record that is filtered.
      Beat(worker, {ReadToEnd(task, lease, 3, {MakeRun(lease.split().id(), 2, 1)})});
    }
  }
  std::vector<v1::Lease> LeasesOf() {
    const v1::LeaseSplitsReply reply = Lease(worker, task, 1, 10);
    return {reply.leases().begin(), reply.leases().end()};
  }
  TestClient OpenRank(uint32_t rank) {
    v1::OpenJobRequest request = OpenRequest();
    request.set_rank(rank);
    const auto reply = service->OpenJob(request);
    EXPECT_TRUE(reply.ok()) << reply.status();
    return {reply->client(), reply->job(), reply->next_epoch(), 0};
  }
  v1::ClientBeatReply Say(TestClient& client, Held held, std::vector<v1::Run> runs = {},
                          uint64_t sequence = 0, std::vector<uint64_t> confirmed = {}) {
    v1::ClientBeatRequest request;
    request.set_client(client.id);
    request.set_job(client.job);
    request.set_report_number(++client.reports);
    v1::StepsReport& steps = *request.mutable_steps();
    steps.set_sequence(sequence != 0 ? sequence : ++sequences);
    steps.set_handed(held.handed);
    steps.set_sure(held.sure);
    steps.set_held(held.held);
    steps.set_held_records(held.records);
    if (!runs.empty()) {
      v1::TaskRuns& delivered = *request.add_delivered();
      delivered.set_task(task);
      delivered.mutable_runs()->Assign(runs.begin(), runs.end());
    }
    request.mutable_confirmed_fences()->Assign(confirmed.begin(), confirmed.end());
    const auto reply = Twice(&DispatcherService::ClientBeat, request);
    EXPECT_TRUE(reply.ok()) << reply.status();
    return reply.value_or(v1::ClientBeatReply());
  }

  TestClient a;
  TestClient b;
  TestWorker worker;
  uint64_t task = 0;
  uint64_t sequences = 0;
};

TEST_F(StepsTest, ABatchIsGrantedWhenEveryRankHasComeAndHoldsItsOwn) {
  Begin(v1::UNEVEN_DROP);
  EXPECT_EQ(Say(a, {0, 0, 1, 2}).steps_granted(), 0u);  // rank 1 is not there
  b = OpenRank(1);
  ASSERT_TRUE(Start(b).ok());
  EXPECT_EQ(Say(a, {0, 0, 1, 2}).steps_granted(), 0u);
  EXPECT_EQ(Say(b, {0, 0, 1, 2}).steps_granted(), 1u);
  EXPECT_EQ(Say(a, {0, 1, 1, 2}).steps_granted(), 1u);
  Say(a, {1, 1, 1, 0}, {MakeRun(0, 0, 2)});
  EXPECT_FALSE(Say(a, {1, 1, 1, 0}).epoch_finished());
  // It comes out even.
  const v1::ClientBeatReply last = Say(b, {1, 1, 1, 0}, {MakeRun(1, 0, 2)});
  EXPECT_TRUE(last.epoch_finished());
  EXPECT_EQ(last.summary().steps(), 1u);
  EXPECT_EQ(last.summary().dropped_records(), 0u);
}

TEST_F(StepsTest, AnEmptyEpochIsOverWhenEveryRankHasCome) {
  Use({.splits = 0, .batched = true});
  options.set_world_size(2);
  options.set_uneven(v1::UNEVEN_DROP);
  worker = AddWorker("a:1");
  a = OpenRank(0);
  ASSERT_TRUE(Start(a).ok());
  EXPECT_FALSE(Say(a, {}).epoch_finished());
  EXPECT_THAT(Say(a, {}).waiting(), HasSubstr("waiting for rank 1 of 2"));
  b = OpenRank(1);  // finds epoch 0, not that the other is two further
  ASSERT_TRUE(Start(b).ok());
  Say(b, {});
  EXPECT_TRUE(Say(a, {}).epoch_finished());
  EXPECT_TRUE(Say(b, {}).epoch_finished());
}

TEST_F(StepsTest, WhatOneRankHoldsAndTheOtherLacksIsSharedOutAnew) {
  Begin(v1::UNEVEN_DROP);
  b = OpenRank(1);
  ASSERT_TRUE(Start(b).ok());
  Say(b, {});
  const v1::ClientBeatReply reply = Say(a, {0, 0, 2, 4});  // two batches for two ranks
  EXPECT_THAT(reply.fences(), testing::ElementsAre(task));
  EXPECT_EQ(reply.steps_hold(), 1u);
  Say(a, {}, {}, 0, {task});
  Say(b, {}, {}, 0, {task});
  EXPECT_THAT(TasksOf(worker), Not(IsEmpty()));
}

TEST_F(StepsTest, FewerThanRanksAreLeftAndDropped) {
  Begin(v1::UNEVEN_DROP);
  b = OpenRank(1);
  ASSERT_TRUE(Start(b).ok());
  Say(b, {});
  // A batch of four: rank 1 will not have one.
  const v1::ClientBeatReply end = Say(a, {0, 0, 1, 4});
  EXPECT_TRUE(end.epoch_finished());
  EXPECT_EQ(end.summary().dropped_records(), 4u);
}

TEST_F(StepsTest, AReportFromBeforeAFenceCountsWhatIsSureAlone) {
  Begin(v1::UNEVEN_DROP);
  b = OpenRank(1);
  ASSERT_TRUE(Start(b).ok());
  // The task breaks before rank 0's report is in.
  Beat(b, 0, {}, {}, {task});
  Say(b, {0, 0, 1, 2}, {}, 0, {task});
  const v1::ClientBeatReply reply = Say(a, {0, 0, 1, 2});
  EXPECT_EQ(reply.steps_granted(), 0u);
  EXPECT_THAT(reply.fences(), testing::ElementsAre(task));
  // Nor does one that was overtaken.
  Say(a, {}, {}, sequences + 2, {task});
  EXPECT_EQ(Say(a, {0, 0, 1, 2}, {}, sequences + 1).steps_granted(), 0u);
}

TEST_F(StepsTest, ErrorEndsTheJobAndWhenARankLeavesTheOthersEnd) {
  Begin(v1::UNEVEN_ERROR);
  b = OpenRank(1);
  ASSERT_TRUE(Start(b).ok());
  Say(b, {});
  EXPECT_THAT(Say(a, {0, 0, 1, 4}).failure().message(), HasSubstr("1 are left"));
  options.set_uneven(v1::UNEVEN_DROP);
  TestClient c = [&] {
    v1::OpenJobRequest request = OpenRequest("other");
    const auto reply = service->OpenJob(request);
    return TestClient{reply->client(), reply->job(), 0, 0};
  }();
  ASSERT_TRUE(Start(c).ok());
  Close(c);
  EXPECT_EQ(JobNamed("other").epochs(0).state(), "finished");
}

TEST_F(StepsTest, TwoReadersOfOneRankAreRefused) {
  Begin(v1::UNEVEN_DROP);
  TestClient again = OpenRank(0);
  EXPECT_THAT(std::string(Start(again).status().message()), HasSubstr("rank 0 reads already"));
}

}  // namespace
}  // namespace headrace
