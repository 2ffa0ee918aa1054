#include "pipeline/collate/column_builder.h"

#include <numeric>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace {
namespace {

std::vector<uint32_t> All(size_t n) {
  std::vector<uint32_t> rows(n);
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

TEST(ColumnBuilderTest, NumbersLieBackToBackAligned) {
  Arena from, to;
  std::vector<Cell> cells;
  for (int i = 0; i < 5; ++i) {
    const std::vector<float> values{float(i), float(i) + 0.5f, -float(i)};
    cells.push_back(MakeCell<float>(from, values, Shape{3}));
  }
  ColumnBuilder column({"x", DType::kFloat32, {3}}, 5);
  ASSERT_TRUE(column.Start(Shape{3}, to).ok());
  EXPECT_FALSE(column.Fits(MakeCell<float>(from, {}, Shape{0})));
  column.Append(cells, std::vector<uint32_t>{4, 0});
  column.Append(cells, std::vector<uint32_t>{2});
  const Cell out = column.Finish();
  EXPECT_EQ(out.shape, (Shape{3, 3}));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(out.data) % Arena::kAlignment, 0u);
  EXPECT_THAT(out.as<float>(), testing::ElementsAre(4, 4.5, -4, 0, 0.5, 0, 2, 2.5, -2));
}

TEST(ColumnBuilderTest, StringsAreTheSameHoweverTheyArrive) {
  Arena from;
  std::vector<Cell> cells;
  std::vector<std::string> expected;
  for (int i = 0; i < 100; ++i) {
    expected.push_back(
        i % 7 == 0 ? "" : std::string(static_cast<size_t>(i * 13 % 91), static_cast<char>(i)));
    cells.push_back(MakeBytesCell(from, expected.back()));
  }
  for (size_t capacity : {100u, 101u, 1000u}) {  // full, short by one, very short
    for (size_t step : {1u, 7u, 100u}) {
      Arena to;
      ColumnBuilder column({"x", DType::kBytes, {}}, capacity);
      ASSERT_TRUE(column.Start(Shape(), to).ok());
      for (size_t at = 0; at < 100; at += step) {
        std::vector<uint32_t> rows = All(std::min<size_t>(step, 100 - at));
        for (uint32_t& row : rows) row += static_cast<uint32_t>(at);
        column.Append(cells, rows);
        EXPECT_GT(column.held_bytes(), 0u);
      }
      const Cell out = column.Finish();
      EXPECT_EQ(column.held_bytes(), 0u);
      ASSERT_EQ(out.shape, Shape{100});
      for (size_t i = 0; i < 100; ++i) ASSERT_EQ(out.string(i), expected[i]) << i;
    }
  }
}

TEST(ColumnBuilderTest, ListsOfStringsAreJoined) {
  Arena from, to;
  const std::vector<std::string_view> a{"1", "", "333"}, b{"", "22", std::string_view("\0", 1)};
  const std::vector<Cell> cells{MakeBytesCell(from, a, Shape{3, 1}),
                                MakeBytesCell(from, b, Shape{3, 1})};
  ColumnBuilder column({"x", DType::kBytes, {3, 1}}, 4);
  ASSERT_TRUE(column.Start(Shape{3, 1}, to).ok());
  column.Append(cells, All(2));
  const Cell out = column.Finish();
  ASSERT_EQ(out.shape, (Shape{2, 3, 1}));
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(out.string(i), a[i]);
    EXPECT_EQ(out.string(3 + i), b[i]);
  }
}

TEST(ColumnBuilderTest, TheSecondFullBatchOfStringsIsReservedAtOnce) {
  Arena from;
  const Cell cell = MakeBytesCell(from, std::string(1000, 'x'));
  const std::vector<Cell> cells(64, cell);
  ColumnBuilder column({"x", DType::kBytes, {}}, 256);
  for (int batch = 0; batch < 2; ++batch) {
    Arena to;
    ASSERT_TRUE(column.Start(Shape(), to).ok());
    column.Append(cells, All(64));
    const size_t held = column.held_bytes();
    EXPECT_LT(held, 256 * 1000 * 9 / 8 + 4096);
    for (int i = 0; i < 3; ++i) column.Append(cells, All(64));
    EXPECT_EQ(column.held_bytes(), held);
    EXPECT_EQ(column.Finish().bytes, 257 * 8 + 256 * 1000u);
  }
}

TEST(ColumnBuilderTest, ColumnsWithoutItemsAreWhole) {
  Arena from, to;
  ColumnBuilder numbers({"n", DType::kInt32, {0}}, 3);
  ASSERT_TRUE(numbers.Start(Shape{0}, to).ok());
  const std::vector<Cell> empty{MakeCell<int32_t>(from, {}, Shape{0})};
  numbers.Append(empty, All(1));
  EXPECT_EQ(numbers.Finish().shape, (Shape{1, 0}));
  ColumnBuilder text({"t", DType::kBytes, {0}}, 3);
  ASSERT_TRUE(text.Start(Shape{0}, to).ok());
  const std::vector<Cell> no_text{
      MakeBytesCell(from, std::span<const std::string_view>(), Shape{0})};
  text.Append(no_text, All(1));
  const Cell out = text.Finish();
  EXPECT_EQ(out.shape, (Shape{1, 0}));
  EXPECT_EQ(out.bytes, 8u);
}

TEST(ColumnBuilderTest, AColumnOverTheLimitIsRefusedUnallocated) {
  Arena to;
  ColumnBuilder column({"x", DType::kFloat64, {-1, -1}}, size_t{1} << 20);
  const absl::Status status = column.Start(Shape{1 << 20, 1 << 30}, to);
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_NE(status.message().find("field 'x': a batch of 1048576 rows"), absl::string_view::npos);
  EXPECT_EQ(to.bytes(), 0u);
}

}  // namespace
}  // namespace headrace
