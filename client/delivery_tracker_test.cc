#include "client/delivery_tracker.h"

#include "client/test_frames.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

v1::ClientBeatRequest Beat(DeliveryTracker& tracker) {
  v1::ClientBeatRequest request;
  tracker.Fill(request);
  return request;
}

v1::ClientBeatReply Answer(const v1::ClientBeatRequest& request,
                           std::vector<uint64_t> fences = {}) {
  v1::ClientBeatReply reply;
  reply.set_acknowledged_report(request.report_number());
  for (uint64_t task : fences) reply.add_fences(task);
  return reply;
}

// "task:first+count" of each run, in order.
std::vector<std::string> Delivered(const v1::ClientBeatRequest& request) {
  std::vector<std::string> out;
  for (const v1::TaskRuns& runs : request.delivered()) {
    for (const v1::Run& run : runs.runs()) {
      out.push_back(std::to_string(runs.task()) + ":" + std::to_string(run.first()) + "+" +
                    std::to_string(run.count()));
    }
  }
  return out;
}

void HandOver(DeliveryTracker& tracker, const TestFrame& spec) {
  const auto frame = MakeView(spec);
  for (size_t row = 0; row < frame->rows(); ++row) tracker.Delivered(*frame, row);
}

TEST(DeliveryTrackerTest, RowsHandedOverAreReportedMergedAndPerTask) {
  DeliveryTracker tracker;
  HandOver(tracker, {.task = 1, .first = 10, .rows = 3});
  HandOver(tracker, {.task = 2, .first = 50, .rows = 1});
  HandOver(tracker, {.task = 1, .first = 13, .rows = 2});
  EXPECT_TRUE(tracker.unsent());
  EXPECT_THAT(Delivered(Beat(tracker)), ElementsAre("1:10+5", "2:50+1"));
  EXPECT_FALSE(tracker.unsent());
}

TEST(DeliveryTrackerTest, ManyRunsOutOfOrderAreReportedAsFewOnceTheyAreMerged) {
  DeliveryTracker tracker;
  for (uint64_t i = 0; i < 1000; ++i) {
    const headrace::Run run{.split = 1, .first = i * 7 % 1000, .count = 1};
    tracker.Delivered(1, std::span(&run, 1));
  }
  const auto raw = tracker.Unmerged();
  ASSERT_EQ(raw.size(), 1u);
  // Meanwhile the trainer goes on, and somebody else asks.
  const headrace::Run later{.split = 1, .first = 2000, .count = 5};
  tracker.Delivered(1, std::span(&later, 1));
  EXPECT_EQ(Delivered(Beat(tracker)).size(), raw[0]->at(1).size() + 1);
  tracker.Replace(raw[0], DeliveryTracker::Merged(*raw[0]));
  const auto second = Beat(tracker);
  EXPECT_THAT(Delivered(second), ElementsAre("1:0+1000", "1:2000+5"));
  EXPECT_THAT(tracker.Unmerged(), IsEmpty());
  // The saved state has each once, merged where that is done.
  const auto fresh = tracker.TakeFresh();
  ASSERT_EQ(fresh.size(), 2u);
  EXPECT_EQ(fresh[0]->at(1), (std::vector<headrace::Run>{{1, 0, 1000}}));
  EXPECT_EQ(fresh[1]->at(1), (std::vector<headrace::Run>{{1, 2000, 5}}));
  EXPECT_THAT(tracker.TakeFresh(), IsEmpty());
  tracker.OnReply(Answer(second));
  EXPECT_THAT(Delivered(Beat(tracker)), IsEmpty());
}

TEST(DeliveryTrackerTest, WhatIsAcknowledgedWhileItIsMergedStaysSo) {
  DeliveryTracker tracker;
  for (uint64_t i = 1000; i > 0; i -= 2) {
    const headrace::Run run{.split = 1, .first = i, .count = 1};
    tracker.Delivered(1, std::span(&run, 1));
  }
  const auto raw = tracker.Unmerged();
  ASSERT_EQ(raw.size(), 1u);
  tracker.OnReply(Answer(Beat(tracker)));
  tracker.Replace(raw[0], DeliveryTracker::Merged(*raw[0]));
  EXPECT_THAT(Delivered(Beat(tracker)), IsEmpty());
  EXPECT_EQ(tracker.TakeFresh().size(), 1u);
}

TEST(DeliveryTrackerTest, AReportGoesOutAgainUntilItIsAcknowledged) {
  DeliveryTracker tracker;
  HandOver(tracker, {.first = 0});
  const auto lost = Beat(tracker);
  HandOver(tracker, {.first = 7});
  const auto second = Beat(tracker);
  EXPECT_GT(second.report_number(), lost.report_number());
  EXPECT_THAT(Delivered(second), ElementsAre("1:0+1", "1:7+1"));
  tracker.OnReply(Answer(lost));  // late
  EXPECT_THAT(Delivered(Beat(tracker)), ElementsAre("1:7+1"));
  tracker.OnReply(Answer(second));
  EXPECT_THAT(Delivered(Beat(tracker)), IsEmpty());
}

TEST(DeliveryTrackerTest, TheBeatThatConfirmsAFenceCarriesAllThatIsOwed) {
  DeliveryTracker tracker;
  HandOver(tracker, {.task = 3, .first = 0});
  Beat(tracker);  // its answer is lost
  HandOver(tracker, {.task = 3, .first = 5});
  const auto asked = Beat(tracker);
  HandOver(tracker, {.task = 3, .first = 9});
  v1::ClientBeatReply fence;
  fence.set_acknowledged_report(0);
  fence.add_fences(3);
  EXPECT_THAT(tracker.OnReply(fence), ElementsAre(3));
  EXPECT_TRUE(tracker.fenced(3));
  EXPECT_TRUE(tracker.must_confirm());
  const auto confirms = Beat(tracker);
  EXPECT_THAT(confirms.confirmed_fences(), ElementsAre(3));
  EXPECT_THAT(Delivered(confirms), ElementsAre("3:0+1", "3:5+1", "3:9+1"));
}

TEST(DeliveryTrackerTest, AFenceIsConfirmedUntilTheDispatcherHasItAndNeverLifted) {
  DeliveryTracker tracker;
  const auto first = Beat(tracker);
  EXPECT_THAT(tracker.OnReply(Answer(first, {4})), ElementsAre(4));
  const auto second = Beat(tracker);  // lost
  EXPECT_THAT(second.confirmed_fences(), ElementsAre(4));
  EXPECT_THAT(tracker.OnReply(Answer(second, {4})), IsEmpty());  // told before
  EXPECT_THAT(Beat(tracker).confirmed_fences(), ElementsAre(4));
  tracker.OnReply(Answer(second));
  EXPECT_FALSE(tracker.must_confirm());
  EXPECT_TRUE(tracker.fenced(4));
}

TEST(DeliveryTrackerTest, TooMuchForOneMessageGoesInSeveralAndConfirmsInTheLast) {
  DeliveryTracker tracker(4);
  for (uint64_t i = 0; i < 10; ++i) HandOver(tracker, {.task = 1, .first = 2 * i});  // none merge
  v1::ClientBeatReply fence;
  fence.add_fences(1);
  tracker.OnReply(fence);
  std::vector<std::string> all;
  std::vector<size_t> sizes;
  bool confirmed = false;
  while (!confirmed) {
    const auto beat = Beat(tracker);
    const auto part = Delivered(beat);
    sizes.push_back(part.size());
    all.insert(all.end(), part.begin(), part.end());
    confirmed = beat.confirmed_fences_size() != 0;
    EXPECT_EQ(tracker.backlog(), !confirmed);
    ASSERT_LT(sizes.size(), 10u);
    tracker.OnReply(Answer(beat, {1}));
  }
  EXPECT_THAT(sizes, ElementsAre(4, 4, 2));
  EXPECT_EQ(all.size(), 10u);
}

TEST(DeliveryTrackerTest, ANewIncarnationOwesItsReportsButNoFences) {
  DeliveryTracker tracker;
  HandOver(tracker, {.task = 1, .first = 0});
  Beat(tracker);
  HandOver(tracker, {.task = 1, .first = 9});
  v1::ClientBeatReply fence;
  fence.add_fences(1);
  tracker.OnReply(fence);
  tracker.Reincarnate();
  EXPECT_FALSE(tracker.fenced(1));
  const auto beat = Beat(tracker);
  EXPECT_THAT(Delivered(beat), ElementsAre("1:0+1", "1:9+1"));
  EXPECT_THAT(beat.confirmed_fences(), IsEmpty());
}

TEST(DeliveryTrackerTest, ANewEpochOwesNothing) {
  DeliveryTracker tracker;
  HandOver(tracker, {.task = 1, .first = 0});
  Beat(tracker);
  HandOver(tracker, {.task = 1, .first = 9});
  tracker.Fence(1);
  tracker.Reset();
  EXPECT_FALSE(tracker.fenced(1));
  EXPECT_FALSE(tracker.unsent());
  EXPECT_THAT(Delivered(Beat(tracker)), IsEmpty());
}

}  // namespace
}  // namespace headrace
