#include "dispatcher/ledger/lane.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace::dispatch {
namespace {

using testing::ElementsAre;

v1::LaneDef ByRecord(uint32_t slot, uint32_t slots) {
  v1::LaneDef def;
  def.set_slot(slot);
  def.set_slots(slots);
  def.set_by_record(true);
  return def;
}

Lane Plain(uint64_t splits, uint64_t passes = 1, bool single = false) {
  return Lane(v1::LaneDef(), nullptr, splits, passes, single);
}

TEST(LaneTest, SplitsGoOutInOrderPassAfterPass) {
  Lane lane = Plain(2, 2);
  EXPECT_EQ(lane.pending(), 4u);
  EXPECT_THAT(lane.Next(10),
              ElementsAre(SplitPass{0, 0}, SplitPass{1, 0}, SplitPass{0, 1}, SplitPass{1, 1}));
  EXPECT_TRUE(lane.Take({0, 0}).ok());
  EXPECT_FALSE(lane.Take({0, 1}).ok());
  EXPECT_THAT(lane.Next(1), ElementsAre(SplitPass{1, 0}));
}

TEST(LaneTest, WhatComesBackGoesOutFirst) {
  Lane lane = Plain(4);
  for (uint32_t i = 0; i < 3; ++i) ASSERT_TRUE(lane.Take({i, 0}).ok());
  lane.GiveBack({{0, 0}, {2, 0}});
  EXPECT_THAT(lane.Next(9), ElementsAre(SplitPass{0, 0}, SplitPass{2, 0}, SplitPass{3, 0}));
  EXPECT_EQ(lane.leased(), 1u);
}

TEST(LaneTest, OfASharedLaneLaterSplitsCanBeTakenAndThoseBeforeKeepTheirPlace) {
  v1::LaneDef def;
  def.set_shared(true);
  Lane lane(def, nullptr, 3, 2, false);
  ASSERT_TRUE(lane.Take({2, 0}).ok());
  EXPECT_EQ(lane.pending(), 5u);
  EXPECT_THAT(lane.Next(3), ElementsAre(SplitPass{0, 0}, SplitPass{1, 0}, SplitPass{0, 1}));
  EXPECT_FALSE(lane.Take({2, 0}).ok()) << "it is leased";
  ASSERT_TRUE(lane.Take({1, 1}).ok());
  ASSERT_TRUE(lane.Take({1, 0}).ok());
  lane.GiveBack({{2, 0}});
  EXPECT_THAT(lane.Next(9),
              ElementsAre(SplitPass{2, 0}, SplitPass{0, 0}, SplitPass{0, 1}, SplitPass{2, 1}));
  EXPECT_TRUE(lane.Retire({1, 0}));
  EXPECT_TRUE(lane.Retire({1, 1}));
  for (const Piece& piece : lane.Next(9)) {
    ASSERT_TRUE(lane.Take(piece).ok());
    EXPECT_TRUE(lane.Retire(piece));
  }
  EXPECT_TRUE(lane.Done());
  EXPECT_EQ(lane.retired(), 6u);
}

TEST(LaneTest, WhatACheckpointRetiredIsNotPassedOverButGone) {
  v1::LaneDef def;
  def.set_shared(true);
  Lane lane(def, nullptr, 5, 1, false);
  ASSERT_TRUE(lane.RetireRestored({1, 0}, 0));
  ASSERT_TRUE(lane.RetireRestored({4, 0}, 0));
  ASSERT_TRUE(lane.Take({3, 0}).ok());
  EXPECT_THAT(lane.Next(9), ElementsAre(SplitPass{0, 0}, SplitPass{2, 0}));
  EXPECT_FALSE(lane.Take({1, 0}).ok());
  EXPECT_FALSE(lane.Take({4, 0}).ok());
}

TEST(LaneTest, WhatIsTooFarAheadCannotBeTaken) {
  v1::LaneDef def;
  def.set_shared(true);
  Lane lane(def, nullptr, Lane::kMostPassedOver * 2, 1, false);
  EXPECT_FALSE(lane.Take({Lane::kMostPassedOver, 0}).ok());
  EXPECT_TRUE(lane.Take({Lane::kMostPassedOver - 1, 0}).ok());
}

TEST(LaneTest, AnEndlessRepeatCostsNoMemory) {
  Lane lane = Plain(1000, ~uint64_t{0});
  EXPECT_GT(lane.pending(), uint64_t{1} << 41);
  EXPECT_EQ(lane.Next(3).size(), 3u);
}

TEST(LaneTest, NoSplitsIsDone) { EXPECT_TRUE(Plain(0, 5).Done()); }

TEST(LaneTest, SlotsOwnEveryRecordOnce) {
  for (uint32_t slots = 1; slots <= 5; ++slots) {
    for (uint64_t split = 0; split < 7; ++split) {
      for (uint64_t records = 0; records < 12; ++records) {
        uint64_t sum = 0;
        for (uint32_t slot = 0; slot < slots; ++slot) {
          const Lane lane(ByRecord(slot, slots), nullptr, 10, 1, false);
          uint64_t own = 0;
          for (uint64_t i = 0; i < records; ++i) own += (split + i) % slots == slot;
          EXPECT_EQ(lane.Own(split, records), own);
          sum += own;
        }
        EXPECT_EQ(sum, records);
      }
    }
  }
}

TEST(LaneTest, OtherSlotsRecordsDoNotCount) {
  Lane lane(ByRecord(1, 3), nullptr, 5, 1, false);
  for (uint32_t i = 0; i < 3; ++i) ASSERT_TRUE(lane.Take({i, 0}).ok());
  v1::Run run;
  run.set_first(0);
  run.set_count(9);
  // Split 2: records with (2 + i) % 3 == 1, so 2, 5, 8.
  EXPECT_EQ(lane.Cover({2, 0}, run), 3u);
  lane.Find({2, 0})->SetTotal(lane.Own(2, 9));
  EXPECT_TRUE(lane.Find({2, 0})->Complete());
}

TEST(LaneTest, RewindingKeepsWhatIsDoneAndWhereItWasClosed) {
  Lane lane = Plain(5, 1, /*single=*/true);
  ASSERT_TRUE(lane.Take({0, 0}).ok());
  ASSERT_TRUE(lane.Take({1, 0}).ok());
  v1::Run run;
  run.set_count(4);
  lane.Cover({0, 0}, run);
  lane.Retire({0, 0});
  lane.Close();
  lane.GiveBack({{1, 0}});
  lane.Rewind();
  EXPECT_THAT(lane.Next(9), ElementsAre(SplitPass{0, 0}, SplitPass{1, 0}));
  EXPECT_EQ(lane.Find({0, 0})->records_done(), 4u);
  EXPECT_EQ(lane.leased(), 0u);
}

}  // namespace
}  // namespace headrace::dispatch
