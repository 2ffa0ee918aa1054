#include "client/lane_frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "client/ordered_frames.h"

namespace headrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kBatch = 4;

v1::OrderedPlan Plan() {
  v1::OrderedPlan plan;
  plan.set_batch_rows(kBatch);
  return plan;
}

class LaneFramesTest : public testing::Test {
 protected:
  void Begin(std::vector<uint64_t> windows) {
    ASSERT_TRUE(sequence_.Begin(0, windows, nullptr).ok());
  }
  // `task` sends window `window` of `lane`, of `rows` rows, from frame `from` on.
  void Send(uint64_t task, uint32_t lane, uint64_t window, uint64_t rows, size_t from = 0) {
    merger_.AddTask(task);
    frames_.Listed(task, lane);
    const auto frames = WindowFrames(task, {.lane = lane, .window = window}, lane * 100 + window,
                                     rows, kBatch, 0, 1);
    for (size_t i = from; i < frames.size(); ++i) {
      if (!frames_.Known(*frames[i])) merger_.Push(task, frames[i]);
    }
  }
  // Batches until one is missing.
  size_t Read() {
    size_t batches = 0;
    while (true) {
      const auto ready = sequence_.Pop();
      EXPECT_TRUE(ready.ok()) << ready.status();
      if (ready->has_value()) {
        batches += (*ready)->frame != nullptr;
        continue;
      }
      const std::optional<uint32_t> lane = sequence_.lane();
      if (!lane) return batches;
      const auto used = [this](uint64_t task) { used_.push_back(task); };
      const auto frame = frames_.Next(*lane, used, [this](uint64_t t) { gaps_.push_back(t); });
      EXPECT_TRUE(frame.ok()) << frame.status();
      if (*frame == nullptr) return batches;
      EXPECT_TRUE(sequence_.Take(*frame).ok());
      frames_.LetGo(*lane, used);
    }
  }

  FrameMerger merger_{kMiB};
  OrderedSequence sequence_{Plan(), 0, 1};
  LaneFrames frames_{merger_, sequence_};
  std::vector<uint64_t> used_;
  std::vector<uint64_t> gaps_;
};

TEST_F(LaneFramesTest, OfTwoTasksFramesOneIsUsedAndTheOtherGoesWithIt) {
  Begin({1});
  Send(/*task=*/1, /*lane=*/0, /*window=*/0, /*rows=*/8);
  Send(/*task=*/2, /*lane=*/0, /*window=*/0, /*rows=*/8);
  EXPECT_EQ(Read(), 2u);
  EXPECT_THAT(used_, ElementsAre(1, 2, 1, 2, 1, 2));
  EXPECT_TRUE(merger_.empty());
}

// Its turn never comes again, so nobody would look at what is held of it.
TEST_F(LaneFramesTest, ALaneAtItsEndHoldsNothing) {
  Begin({1, 1});
  Send(1, 0, 0, 4);
  Send(2, 0, 0, 4);
  Send(3, 1, 0, 12);
  EXPECT_EQ(Read(), 4u);
  EXPECT_TRUE(merger_.empty());
  EXPECT_THAT(gaps_, IsEmpty());
}

// Another rank may wait for the second task's frames: its worker keeps them until this one has
// taken them, for which it needs credit.
TEST_F(LaneFramesTest, WhatWasHadByAnotherTaskIsLetGoWhileAnotherLaneHasItsTurn) {
  Begin({2, 1});
  Send(1, 0, 0, 8);
  Send(2, 0, 0, 8);
  EXPECT_EQ(Read(), 1u) << "lane 1 has its turn, and nothing of it has come";
  EXPECT_THAT(used_, ElementsAre(1, 2));
  Send(3, 1, 0, 4);
  EXPECT_EQ(Read(), 2u);
  EXPECT_TRUE(merger_.empty()) << "lane 0 has had all that came of it";
}

TEST_F(LaneFramesTest, FramesWithAGapBeforeThemAreDroppedAndTheirTaskNamed) {
  Begin({1});
  Send(1, 0, 0, 12, /*from=*/1);
  EXPECT_EQ(Read(), 0u);
  EXPECT_THAT(gaps_, ElementsAre(1));
  EXPECT_TRUE(merger_.empty());
  Send(2, 0, 0, 12);
  EXPECT_EQ(Read(), 3u);
}

TEST_F(LaneFramesTest, AFrameOfAnotherLaneIsAnError) {
  Begin({1, 1});
  merger_.AddTask(1);
  frames_.Listed(1, 0);
  merger_.Push(1, WindowFrames(1, {.lane = 1}, 100, 4, kBatch, 0, 1).front());
  const auto frame = frames_.Next(0, [](uint64_t) {}, [](uint64_t) {});
  EXPECT_EQ(frame.status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace headrace
