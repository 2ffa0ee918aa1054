#include "client/frame_merger.h"

#include <random>

#include "client/test_frames.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace {
namespace {

using ::testing::ElementsAre;

constexpr uint64_t kMiB = 1 << 20;

std::vector<uint64_t> Tasks(FrameMerger& merger) {
  std::vector<uint64_t> out;
  while (auto row = merger.Pop()) out.push_back(row->task);
  return out;
}

TEST(FrameMergerTest, TasksTakeTurnsFrameByFrame) {
  FrameMerger merger(kMiB);
  for (uint64_t task : {1, 2, 3}) merger.AddTask(task);
  for (uint64_t i = 0; i < 3; ++i) merger.Push(1, MakeView({.task = 1}));
  merger.Push(2, MakeView({.task = 2, .rows = 2}));
  merger.Push(3, MakeView({.task = 3}));
  EXPECT_THAT(Tasks(merger), ElementsAre(1, 2, 2, 3, 1, 1));
  EXPECT_TRUE(merger.empty());
}

TEST(FrameMergerTest, RowsOfAFrameComeInOrder) {
  FrameMerger merger(kMiB);
  merger.AddTask(1);
  merger.Push(1, MakeView({.first = 5, .rows = 3}));
  std::vector<int64_t> values;
  while (auto row = merger.Pop()) values.push_back(row->frame->at(0, row->row).as<int64_t>()[0]);
  EXPECT_THAT(values, ElementsAre(5, 6, 7));
}

TEST(FrameMergerTest, ARemovedTasksFramesAreDroppedEvenHalfReadOnes) {
  FrameMerger merger(kMiB);
  merger.AddTask(1);
  merger.AddTask(2);
  merger.Push(1, MakeView({.task = 1, .rows = 3}));
  merger.Push(2, MakeView({.task = 2}));
  ASSERT_EQ(merger.Pop()->task, 1u);
  merger.RemoveTask(1);
  EXPECT_THAT(Tasks(merger), ElementsAre(2));
  EXPECT_EQ(merger.held_bytes(), 0u);
  EXPECT_FALSE(merger.Push(1, MakeView({.task = 1})));
}

TEST(FrameMergerTest, AnEndedTasksFramesAreStillHandedOut) {
  FrameMerger merger(kMiB);
  merger.AddTask(1);
  merger.Push(1, MakeView({.task = 1}));
  merger.EndTask(1);
  EXPECT_EQ(merger.TakeCredit(1), 0u);
  EXPECT_THAT(Tasks(merger), ElementsAre(1));
  EXPECT_FALSE(merger.Push(1, MakeView({.task = 1})));  // forgotten
}

// Streams that send whenever they have credit, one frame over it at most; the reader pops at
// random. `add_at`: the round in which each task joins.
void Simulate(uint64_t budget, size_t frame_bytes, const std::vector<int>& add_at) {
  FrameMerger merger(budget);
  std::map<uint64_t, int64_t> credit;
  std::map<uint64_t, uint64_t> got;
  std::mt19937 rng(1);
  uint64_t largest = 0;
  const auto view = MakeView({.padding = frame_bytes});
  for (int round = 0; round < 20000; ++round) {
    for (size_t i = 0; i < add_at.size(); ++i) {
      if (add_at[i] != round) continue;
      merger.AddTask(i + 1);
      credit[i + 1] = static_cast<int64_t>(merger.TakeCredit(i + 1));
    }
    for (auto& [task, left] : credit) {
      if (left <= 0 || rng() % 2 == 0) continue;
      left -= static_cast<int64_t>(view->bytes());
      ASSERT_TRUE(merger.Push(task, view));
    }
    int64_t total = static_cast<int64_t>(merger.held_bytes());
    for (auto& [task, left] : credit) total += std::max<int64_t>(0, left);
    largest = std::max(largest, static_cast<uint64_t>(total));
    if (rng() % 3 == 0) continue;
    if (auto row = merger.Pop()) ++got[row->task];
    merger.GiveCredit([&](uint64_t task, uint64_t bytes) {
      credit[task] += static_cast<int64_t>(bytes);
      return true;
    });
  }
  uint64_t least = ~uint64_t{0};
  for (size_t i = 0; i < add_at.size(); ++i) least = std::min(least, got[i + 1]);
  EXPECT_GT(least, 1000u / add_at.size()) << "a task was starved";
  // The budget, one frame a task, and the little that a task with nothing always gets.
  EXPECT_LE(largest, budget + add_at.size() * (view->bytes() + (64 << 10)))
      << "budget " << budget << ", frames of " << view->bytes();
}

TEST(FrameMergerTest, CreditAndFramesStayWithinTheBudgetAndNobodyStarves) {
  const std::vector<int> together = {0, 0, 0, 0};
  const std::vector<int> in_turn = {0, 100, 200, 300, 400, 500, 600, 700};
  for (size_t frame_bytes : {100, 50'000, 3'000'000}) {
    for (uint64_t budget : {uint64_t{1}, kMiB, 16 * kMiB}) {
      Simulate(budget, frame_bytes, {0});
      Simulate(budget, frame_bytes, together);
      Simulate(budget, frame_bytes, in_turn);
    }
  }
}

TEST(FrameMergerTest, CreditOfAStreamThatIsGoneGoesToTheOthers) {
  FrameMerger merger(16 * kMiB);
  merger.AddTask(1);
  const uint64_t first = merger.TakeCredit(1);
  EXPECT_EQ(first, 16 * kMiB);
  merger.AddTask(2);
  EXPECT_LE(merger.TakeCredit(2), 64u << 10);  // all is under way to task 1
  merger.ForgetCredit(1);
  std::map<uint64_t, uint64_t> granted;
  merger.GiveCredit([&](uint64_t task, uint64_t bytes) {
    granted[task] = bytes;
    return task == 2;  // task 1 has no stream
  });
  EXPECT_GT(granted[2], 7 * kMiB);
}

}  // namespace
}  // namespace headrace
