#include "pipeline/engine/output_queue.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace {
namespace {

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

TEST(OutputQueueTest, RowsOfAnUnbatchedStreamGatherWhileNobodyTakesThem) {
  int ready = 0;
  OutputQueue queue({.rows_per_block = 10}, false, [&] { ++ready; }, nullptr);
  for (int64_t i = 0; i < 25; ++i) queue.Push(Numbers(i, 1));
  EXPECT_EQ(ready, 1);
  std::vector<int64_t> all;
  std::vector<size_t> sizes;
  while (auto block = queue.TryPop()) {
    sizes.push_back(block->rows());
    for (int64_t v : Values(*block)) all.push_back(v);
  }
  EXPECT_THAT(sizes, ::testing::ElementsAre(10, 10, 5));
  EXPECT_EQ(all.size(), 25u);
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
  EXPECT_EQ(queue.bytes(), 0u);
}

TEST(OutputQueueTest, ALoneElementIsThereAtOnce) {
  int ready = 0;
  OutputQueue queue({}, false, [&] { ++ready; }, nullptr);
  queue.Push(Numbers(0, 1));
  EXPECT_EQ(ready, 1);
  EXPECT_TRUE(queue.TryPop().has_value());
  queue.Push(Numbers(1, 1));
  EXPECT_EQ(ready, 2);
}

TEST(OutputQueueTest, BigBlocksAreCutToTheLimitAndBatchesToOne) {
  OutputQueue rows({.rows_per_block = 10}, false, nullptr, nullptr);
  rows.Push(Numbers(0, 25));
  EXPECT_EQ(rows.TryPop()->rows(), 10u);
  OutputQueue batches({}, true, nullptr, nullptr);
  batches.Push(Numbers(0, 3));
  batches.Push(Numbers(3, 1));
  for (int64_t i = 0; i < 4; ++i) EXPECT_THAT(Values(*batches.TryPop()), ::testing::ElementsAre(i));
  EXPECT_EQ(batches.bytes(), 0u);
}

TEST(OutputQueueTest, SaysWhenAFullQueueHasRoomAgain) {
  int room = 0;
  OutputQueue queue({.max_bytes = 1}, true, nullptr, [&] { ++room; });
  EXPECT_TRUE(queue.has_room());
  queue.Push(Numbers(0, 2));
  EXPECT_FALSE(queue.has_room());
  queue.TryPop();
  EXPECT_EQ(room, 0);
  queue.TryPop();
  EXPECT_EQ(room, 1);
  EXPECT_TRUE(queue.has_room());
  EXPECT_GT(queue.peak_bytes(), 0u);
}

TEST(OutputQueueTest, RoomIsSaidOnceForMany) {
  const uint64_t each = Numbers(0, 1).bytes();
  int room = 0;
  OutputQueue queue({.max_bytes = 8 * each}, true, nullptr, [&] { ++room; });
  for (int64_t i = 0; queue.has_room(); ++i) queue.Push(Numbers(i, 1));
  for (int i = 0; i < 3; ++i) queue.TryPop();
  EXPECT_EQ(room, 0);
  queue.TryPop();
  EXPECT_EQ(room, 1);
  while (queue.TryPop()) {
  }
  EXPECT_EQ(room, 1);
}

}  // namespace
}  // namespace headrace
