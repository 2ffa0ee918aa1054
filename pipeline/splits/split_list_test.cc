#include "pipeline/splits/split_list.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "fmt/format.h"

namespace headrace {
namespace {

std::vector<v1::Split> RandomSplits(uint64_t seed, size_t files) {
  std::mt19937_64 random(seed);
  std::vector<v1::Split> splits;
  for (size_t file = 0; file < files; ++file) {
    uint64_t at = 0;
    const size_t cuts = 1 + random() % 4;
    for (size_t cut = 0; cut < cuts; ++cut) {
      v1::Split& split = splits.emplace_back();
      split.set_id(splits.size() - 1);
      split.set_path(random() % 7 == 0 ? fmt::format("/other/{}", random() % 100)
                                       : fmt::format("/data/train/part-{:05}.tfrecord", file));
      if (cut > 0) split.set_path(splits[splits.size() - 2].path());
      split.set_begin(at + (random() % 5 == 0 ? random() % 100 : 0));
      split.set_end(split.begin() + random() % 1'000'000'000'000);
      split.set_file_size(cut == 0 ? random() : splits[splits.size() - 2].file_size());
      split.set_file_mtime_ns(cut == 0 ? static_cast<int64_t>(random())
                                       : splits[splits.size() - 2].file_mtime_ns());
      split.set_file_index(file);
      split.set_root_length(11);
      at = split.end();
      if (random() % 9 == 0) split.mutable_more_files()->set_tails("abc");
    }
  }
  return splits;
}

SplitList ListOf(const std::vector<v1::Split>& splits) {
  SplitList list;
  for (const v1::Split& split : splits) list.Add(split);
  return list;
}

void ExpectHolds(const SplitList& list, const std::vector<v1::Split>& splits) {
  ASSERT_EQ(list.size(), splits.size());
  for (size_t i = 0; i < splits.size(); ++i) {
    ASSERT_EQ(list[i].SerializeAsString(), splits[i].SerializeAsString())
        << list[i].ShortDebugString() << "\n"
        << splits[i].ShortDebugString();
    ASSERT_EQ(list.file_index(i), splits[i].file_index());
  }
}

TEST(SplitListTest, GivesBackWhatWasAdded) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const auto splits = RandomSplits(seed, seed * 10);
    const SplitList list = ListOf(splits);
    ExpectHolds(list, splits);
    EXPECT_EQ(list.files(), seed * 10);
  }
}

TEST(SplitListTest, PiecesMakeTheSameListAgain) {
  const auto splits = RandomSplits(5, 60'000);
  const SplitList list = ListOf(splits);
  SplitList copy;
  size_t pieces = 0;
  for (size_t at = 0; at < list.size(); ++pieces) {
    v1::SplitColumns piece;
    at = list.Encode(at, piece);
    EXPECT_LT(piece.ByteSizeLong(), 4 * SplitList::kPieceBytes);
    v1::SplitColumns parsed;
    ASSERT_TRUE(parsed.ParseFromString(piece.SerializeAsString()));
    ASSERT_TRUE(copy.Decode(parsed).ok());
  }
  EXPECT_GT(pieces, 3u);
  ExpectHolds(copy, splits);
  // The first piece again begins anew.
  v1::SplitColumns piece;
  const size_t first = list.Encode(0, piece);
  ASSERT_TRUE(copy.Decode(piece).ok());
  EXPECT_EQ(copy.size(), first);
}

TEST(SplitListTest, AMillionSplitsOfOneFileAreSmall) {
  SplitList list;
  v1::Split split;
  split.set_path("/data/train/part-00000.tfrecord");
  for (uint64_t i = 0; i < 1'000'000; ++i) {
    split.set_begin(i * 1000);
    split.set_end(i * 1000 + 1000);
    list.Add(split);
  }
  EXPECT_LT(list.bytes(), 60'000'000u);
  size_t bytes = 0;
  for (size_t at = 0; at < list.size();) {
    v1::SplitColumns piece;
    at = list.Encode(at, piece);
    bytes += piece.ByteSizeLong();
  }
  EXPECT_LT(bytes, 6'000'000u);
}

TEST(SplitListTest, AnEmptyListIsOnePiece) {
  v1::SplitColumns piece;
  EXPECT_EQ(SplitList().Encode(0, piece), 0u);
  SplitList list = ListOf(RandomSplits(1, 3));
  ASSERT_TRUE(list.Decode(piece).ok());
  EXPECT_TRUE(list.empty());
}

TEST(SplitListTest, ColumnsThatDoNotFitAreRefused) {
  const SplitList list = ListOf(RandomSplits(3, 5));
  v1::SplitColumns good;
  list.Encode(0, good);
  const auto refused = [&](auto damage) {
    v1::SplitColumns bad = good;
    damage(bad);
    SplitList out;
    return !out.Decode(bad).ok();
  };
  EXPECT_TRUE(refused([](v1::SplitColumns& p) { p.set_first(1); }));
  EXPECT_TRUE(refused([](v1::SplitColumns& p) { p.mutable_length()->RemoveLast(); }));
  EXPECT_TRUE(refused([](v1::SplitColumns& p) { p.mutable_path_tails()->pop_back(); }));
  EXPECT_TRUE(refused([](v1::SplitColumns& p) { p.set_new_file(0, 0); }));
  EXPECT_TRUE(refused([](v1::SplitColumns& p) { p.set_path_keep(0, 9); }));
  EXPECT_TRUE(refused([](v1::SplitColumns& p) { p.add_more_of(0); }));
  for (const int64_t step : {std::numeric_limits<int64_t>::max(),
                             std::numeric_limits<int64_t>::min(), int64_t{1} << 32, int64_t{-1}}) {
    EXPECT_TRUE(refused([&](v1::SplitColumns& p) { p.set_file_index_step(0, step); }));
  }
}

}  // namespace
}  // namespace headrace
