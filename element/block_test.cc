#include "element/block.h"

#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace {
namespace {

using ::testing::ElementsAre;

Block Numbers(int64_t first, int64_t count) {
  Block block(std::make_shared<const Schema>(Schema({{"x", DType::kInt64, Shape()}})));
  for (int64_t i = first; i < first + count; ++i) {
    const Cell cell = MakeScalarCell<int64_t>(block.arena(), i);
    block.AppendRow({RunOf({.split = 1, .index = static_cast<uint64_t>(i)})}, {&cell, 1});
  }
  return block;
}

std::vector<int64_t> Values(const Block& block) {
  std::vector<int64_t> out;
  for (const Cell& cell : block.column(0)) out.push_back(cell.as<int64_t>()[0]);
  return out;
}

TEST(BlockTest, FilteredAndFailedRowsSettleDroppedOnesAreKeptApart) {
  Block block = Numbers(0, 5);
  block.Filter(0);
  block.Drop(2);
  block.Fail(3, absl::DataLossError("bad"));
  block.Compact();
  EXPECT_THAT(Values(block), ElementsAre(1, 4));
  EXPECT_THAT(block.settled(),
              ElementsAre(RunOf({.split = 1, .index = 0}), RunOf({.split = 1, .index = 3})));
  EXPECT_THAT(block.dropped(), ElementsAre(RunOf({.split = 1, .index = 2})));
  ASSERT_EQ(block.failures().size(), 1u);
  EXPECT_EQ(block.failures()[0].records, 1u);
}

TEST(BlockTest, AFailedBatchCountsAllItsRecords) {
  Block block(std::make_shared<const Schema>(Schema({{"x", DType::kInt64, Shape({-1})}})));
  const Cell cell = MakeCell<int64_t>(block.arena(), std::vector<int64_t>{1, 2, 3}, Shape({3}));
  block.AppendRow({headrace::Run{.split = 0, .first = 4, .count = 2},
                   headrace::Run{.split = 1, .first = 0, .count = 1}},
                  {&cell, 1});
  block.Fail(0, absl::DataLossError("bad"));
  EXPECT_EQ(block.failures()[0].records, 3u);
}

TEST(BlockTest, RowsOutliveTheBlockTheyWereTakenFrom) {
  Block front({std::make_shared<const Schema>(Schema({{"x", DType::kInt64, Shape()}}))});
  {
    Block block = Numbers(0, 10);
    block.settled().push_back(RunOf({.split = 9, .index = 9}));
    front = block.TakeFront(4);
    EXPECT_THAT(Values(block), ElementsAre(4, 5, 6, 7, 8, 9));
    EXPECT_TRUE(block.settled().empty());
  }
  EXPECT_THAT(Values(front), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(front.provenance(3)[0].first, 3u);
  EXPECT_EQ(front.settled().size(), 1u);
  EXPECT_EQ(front.live_bytes(), 32u);
  EXPECT_LT(front.bytes(), 1024u);
}

TEST(BlockTest, AppendKeepsTheOrderAndTheMemory) {
  Block block = Numbers(0, 2);
  const size_t before = block.bytes();
  block.Append(Numbers(2, 3));
  EXPECT_THAT(Values(block), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(block.provenance(4)[0].first, 4u);
  EXPECT_GT(block.bytes(), before);
}

}  // namespace
}  // namespace headrace
