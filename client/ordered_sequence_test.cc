#include "client/ordered_sequence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "client/ordered_frames.h"

namespace headrace {
namespace {

// The rows of each window of each lane; split = lane * 100 + window.
using Rows = std::vector<std::vector<uint64_t>>;
using Batch = std::vector<int64_t>;

std::vector<uint64_t> WindowsOf(const Rows& rows) {
  std::vector<uint64_t> windows;
  for (const auto& lane : rows) windows.push_back(lane.size());
  return windows;
}

// A sequence and the frames that reach it.
class Reader {
 public:
  Reader(const Rows& rows, uint64_t batch, bool drop, uint32_t rank, uint32_t ranks,
         const v1::OrderedPosition* position = nullptr)
      : rows_(rows),
        batch_(batch),
        rank_(rank),
        ranks_(ranks),
        sequence_(Plan(batch, drop), rank, ranks) {
    EXPECT_TRUE(sequence_.Begin(0, WindowsOf(rows), position).ok());
    for (uint32_t lane = 0; lane < rows.size(); ++lane) {
      Restart(lane, position == nullptr || position->lanes_size() == 0
                        ? 0
                        : position->lanes(static_cast<int>(lane)).window());
    }
  }
  // The lane's frames come again from window `first` on, from another task.
  void Restart(uint32_t lane, uint64_t first) {
    ++task_;
    auto& frames = frames_[lane];
    frames.clear();
    for (uint64_t w = first; w < rows_[lane].size(); ++w) {
      const PiecePlace place{.lane = lane, .window = w};
      for (auto& frame :
           WindowFrames(task_, place, lane * 100 + w, rows_[lane][w], batch_, rank_, ranks_))
        frames.push_back(frame);
    }
  }
  // The next batch; nothing at the end. Reports are added to `reported`.
  std::optional<Batch> Next() {
    while (true) {
      const absl::StatusOr<std::optional<OrderedSequence::Ready>> ready = sequence_.Pop();
      EXPECT_TRUE(ready.ok()) << ready.status();
      if (*ready) {
        for (const auto& [task, runs] : (*ready)->delivered) Note(runs, reported);
        for (const auto& [task, runs] : (*ready)->dropped) Note(runs, dropped);
        if ((*ready)->frame == nullptr) continue;
        const auto x = (*ready)->frame->at(0, 0).as<int64_t>();
        return Batch(x.begin(), x.end());
      }
      const std::optional<uint32_t> lane = sequence_.lane();
      if (!lane) return std::nullopt;
      auto& frames = frames_[*lane];
      while (!frames.empty() &&
             sequence_.FitOf(*frames.front()->place()) == OrderedSequence::Fit::kKnown)
        frames.pop_front();
      EXPECT_FALSE(frames.empty()) << "lane " << *lane;
      if (frames.empty()) return std::nullopt;
      EXPECT_EQ(sequence_.FitOf(*frames.front()->place()), OrderedSequence::Fit::kNext);
      EXPECT_TRUE(sequence_.Take(frames.front()).ok());
      frames.pop_front();
    }
  }
  std::vector<Batch> All() {
    std::vector<Batch> all;
    while (auto batch = Next()) all.push_back(*batch);
    return all;
  }
  OrderedSequence& sequence() { return sequence_; }
  std::multiset<std::pair<uint64_t, uint64_t>> reported;
  std::multiset<std::pair<uint64_t, uint64_t>> dropped;

 private:
  static v1::OrderedPlan Plan(uint64_t batch, bool drop) {
    v1::OrderedPlan plan;
    plan.set_batch_rows(batch);
    plan.set_drop_remainder(drop);
    return plan;
  }
  static void Note(const std::vector<Run>& runs, std::multiset<std::pair<uint64_t, uint64_t>>& to) {
    for (const Run& run : runs) {
      for (uint64_t i = 0; i < run.count; ++i) to.insert({run.split, run.first + i});
    }
  }

  const Rows rows_;
  const uint64_t batch_;
  const uint32_t rank_;
  const uint32_t ranks_;
  OrderedSequence sequence_;
  std::map<uint32_t, std::deque<std::shared_ptr<const FrameView>>> frames_;
  uint64_t task_ = 0;
};

uint64_t Total(const Rows& rows) {
  uint64_t total = 0;
  for (const auto& lane : rows) {
    for (const uint64_t n : lane) total += n;
  }
  return total;
}

Rows MadeUp(std::mt19937_64& random) {
  Rows rows(1 + random() % 4);
  for (auto& lane : rows) {
    lane.resize(random() % 5);
    for (uint64_t& n : lane) n = random() % 3 == 0 ? random() % 4 : random() % 30;
  }
  return rows;
}

TEST(OrderedSequenceTest, BatchesComeFromTheLanesInTurnAndRestsAreJoined) {
  // Lane 0: 5 and 4 rows; lane 1: 3 rows. Batches of 4.
  Reader reader({{5, 4}, {3}}, 4, false, 0, 1);
  EXPECT_THAT(reader.All(), testing::ElementsAre(Batch{0, 1, 2, 3}, Batch{1000, 1001, 1002, 1003},
                                                 Batch{4, 100000, 100001, 100002}));
}

TEST(OrderedSequenceTest, EveryRowComesOnceAndAllButTheLastBatchAreWhole) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    const Rows rows = MadeUp(random);
    Reader reader(rows, 4, false, 0, 1);
    std::vector<Batch> all = reader.All();
    std::set<int64_t> seen;
    for (size_t i = 0; i < all.size(); ++i) {
      if (i + 1 < all.size()) {
        EXPECT_EQ(all[i].size(), 4u);
      }
      for (int64_t x : all[i]) EXPECT_TRUE(seen.insert(x).second);
    }
    EXPECT_EQ(seen.size(), Total(rows));
    EXPECT_EQ(reader.reported.size(), Total(rows));
  }
}

TEST(OrderedSequenceTest, RanksTogetherHaveWhatOneHas) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 100; ++round) {
    const Rows rows = MadeUp(random);
    const bool drop = round % 2 == 0;
    Reader one(rows, 8, drop, 0, 1);
    std::vector<Batch> expected = one.All();
    // The last one is left out when a rank would have nothing of it.
    if (!expected.empty() && expected.back().size() < 4) expected.pop_back();
    std::vector<Batch> joined(expected.size());
    std::set<std::pair<uint64_t, uint64_t>> accounted;
    for (uint32_t rank = 0; rank < 4; ++rank) {
      Reader part(rows, 8, drop, rank, 4);
      const std::vector<Batch> got = part.All();
      ASSERT_EQ(got.size(), expected.size());
      for (size_t i = 0; i < got.size(); ++i)
        joined[i].insert(joined[i].end(), got[i].begin(), got[i].end());
      accounted.insert(part.reported.begin(), part.reported.end());
      accounted.insert(part.dropped.begin(), part.dropped.end());
    }
    EXPECT_EQ(joined, expected);
    EXPECT_EQ(accounted.size(), Total(rows));
  }
}

TEST(OrderedSequenceTest, FromEachPositionTheTailComesAndTheKeptWindowsAreAccountedFor) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 60; ++round) {
    const Rows rows = MadeUp(random);
    const bool drop = round % 3 == 0;
    std::vector<v1::OrderedPosition> positions;
    Reader whole(rows, 4, drop, 0, 1);
    std::vector<Batch> all;
    positions.push_back(whole.sequence().position());
    while (auto batch = whole.Next()) {
      all.push_back(*batch);
      positions.push_back(whole.sequence().position());
    }
    for (size_t at = 0; at < positions.size(); ++at) {
      EXPECT_EQ(positions[at].batch(), at);
      for (uint32_t ranks : {1u, 2u}) {
        std::vector<Batch> tail;
        std::set<std::pair<uint64_t, uint64_t>> accounted;
        for (uint32_t rank = 0; rank < ranks; ++rank) {
          Reader resumed(rows, 4, drop, rank, ranks, &positions[at]);
          // A lane that was left at its very end is not asked again.
          v1::OrderedPosition begins = resumed.sequence().position();
          begins.set_turn(positions[at].turn());
          EXPECT_EQ(begins.SerializeAsString(), positions[at].SerializeAsString());
          const std::vector<Batch> part = resumed.All();
          tail.resize(std::max(tail.size(), part.size()));
          for (size_t i = 0; i < part.size(); ++i)
            tail[i].insert(tail[i].end(), part[i].begin(), part[i].end());
          accounted.insert(resumed.reported.begin(), resumed.reported.end());
          accounted.insert(resumed.dropped.begin(), resumed.dropped.end());
        }
        std::vector<Batch> expected(all.begin() + static_cast<ptrdiff_t>(at), all.end());
        if (!expected.empty() && expected.back().size() < ranks) expected.pop_back();
        ASSERT_EQ(tail, expected) << "round " << round << " batch " << at << " ranks " << ranks;
        // The dispatcher retires a window when all of its rows are reported: none may be missing.
        uint64_t kept = 0;
        for (size_t lane = 0; lane < rows.size(); ++lane) {
          for (uint64_t w = positions[at].lanes(static_cast<int>(lane)).window();
               w < rows[lane].size(); ++w)
            kept += rows[lane][w];
        }
        EXPECT_EQ(accounted.size(), kept);
      }
    }
  }
}

TEST(OrderedSequenceTest, ALaneMadeAgainByAnotherTaskChangesNothing) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 200; ++round) {
    const Rows rows = MadeUp(random);
    Reader calm(rows, 4, false, 0, 1);
    const std::vector<Batch> expected = calm.All();
    Reader reader(rows, 4, false, 0, 1);
    std::vector<Batch> got;
    while (true) {
      if (random() % 3 == 0) {
        const auto lane = static_cast<uint32_t>(random() % rows.size());
        // From any window that a frame is still to come of, or before.
        const uint64_t needed = reader.sequence().windows()[lane];
        reader.Restart(lane, random() % (needed + 1));
      }
      const std::optional<Batch> batch = reader.Next();
      if (!batch) break;
      got.push_back(*batch);
    }
    EXPECT_EQ(got, expected);
  }
}

TEST(OrderedSequenceTest, AMissingFrameIsAGap) {
  Reader reader({{12}}, 4, false, 0, 1);
  const auto frames = WindowFrames(9, {}, 0, 12, 4, 0, 1);
  EXPECT_EQ(reader.sequence().FitOf(*frames[1]->place()), OrderedSequence::Fit::kGap);
  ASSERT_TRUE(reader.Next());
  EXPECT_EQ(reader.sequence().FitOf(*frames[0]->place()), OrderedSequence::Fit::kKnown);
  EXPECT_EQ(reader.sequence().FitOf(*frames[1]->place()), OrderedSequence::Fit::kNext);
}

}  // namespace
}  // namespace headrace
