#include "client/batch_join.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/ordered_frames.h"

namespace headrace {
namespace {

using testing::ElementsAre;

std::vector<int64_t> XOf(const FrameView& frame) {
  const auto x = frame.at(0, 0).as<int64_t>();
  return {x.begin(), x.end()};
}

TEST(BatchJoinTest, RowsOfSeveralFramesBecomeOneBatch) {
  const std::vector<RowRange> rows = {{BatchFrame(1, 0, 0, 4, {}), 1, 4},
                                      {BatchFrame(2, 7, 10, 3, {}), 0, 2}};
  const auto joined = JoinRows(rows, 0, 5, {});
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_THAT(XOf(**joined), ElementsAre(1, 2, 3, 7010, 7011));
  const TensorView text = (*joined)->at(1, 0);
  EXPECT_EQ(text.string(0), "a1");
  EXPECT_EQ(text.string(4), "a7011");
  std::vector<headrace::Run> runs;
  (*joined)->AppendRuns(0, 1, runs);
  EXPECT_THAT(runs, ElementsAre(headrace::Run{0, 1, 3}, headrace::Run{7, 10, 2}));
}

TEST(BatchJoinTest, ARanksPartIsCutOut) {
  const std::vector<RowRange> rows = {{BatchFrame(1, 0, 0, 4, {}), 0, 4},
                                      {BatchFrame(2, 7, 0, 4, {}), 0, 4}};
  const auto joined = JoinRows(rows, 3, 6, {});
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_THAT(XOf(**joined), ElementsAre(3, 7000, 7001));
  std::vector<headrace::Run> runs;
  (*joined)->AppendRuns(0, 1, runs);
  EXPECT_THAT(runs, ElementsAre(headrace::Run{0, 3, 1}, headrace::Run{7, 0, 2}));
}

std::shared_ptr<const FrameView> Padded(uint64_t split, int64_t rows, int64_t width, float value) {
  Block block(std::make_shared<Schema>(std::vector<Field>{{"t", DType::kFloat32, Shape{-1, -1}}}));
  const std::vector<float> values(static_cast<size_t>(rows * width), value);
  const std::vector<Cell> cells = {MakeCell<float>(block.arena(), values, Shape{rows, width})};
  block.AppendRow({Run{split, 0, static_cast<uint64_t>(rows)}}, cells);
  FrameMeta meta;
  meta.batched = true;
  return ViewOf(*WriteFrame(block, meta));
}

TEST(BatchJoinTest, PaddedRowsArePaddedToTheLongestOfTheGlobalBatch) {
  const std::vector<RowRange> rows = {{Padded(0, 2, 2, 1), 0, 2}, {Padded(1, 2, 3, 2), 0, 2}};
  // A rank that has none of the long rows still has their length.
  const auto joined = JoinRows(rows, 0, 2, {.padded = true, .pad_value = -1});
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_EQ((*joined)->at(0, 0).shape, (Shape{2, 3}));
  const auto values = (*joined)->at(0, 0).as<float>();
  EXPECT_THAT(std::vector<float>(values.begin(), values.end()), ElementsAre(1, 1, -1, 1, 1, -1));
}

TEST(BatchJoinTest, UnlikeRowsOfAnUnpaddedBatchAreRefused) {
  const std::vector<RowRange> rows = {{Padded(0, 2, 2, 1), 0, 2}, {Padded(1, 2, 3, 2), 0, 2}};
  EXPECT_EQ(JoinRows(rows, 0, 4, {}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace headrace
