#include "pipeline/collate/padded_column.h"

#include <numeric>
#include <string>

#include "element/half.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace {
namespace {

using testing::ElementsAre;

Cell Numbers(Arena& arena, Shape shape) {  // 1, 2, 3, ...
  std::vector<int16_t> values(static_cast<size_t>(shape.items()));
  std::iota(values.begin(), values.end(), int16_t{1});
  return MakeCell<int16_t>(arena, values, shape);
}

TEST(PaddedColumnTest, ShorterRowsAreFilledUp) {
  Arena from, to;
  const std::vector<Cell> rows{Numbers(from, {2}), Numbers(from, {0}), Numbers(from, {3})};
  PaddingCount count;
  const Shape shape = CommonShape(rows, Shape::Unknown());
  EXPECT_EQ(shape, Shape{3});
  const auto out = PadColumn({"x", DType::kInt16, {-1}}, rows, shape,
                             *MakePadItem(-7, DType::kInt16), to, count);
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(out->shape, (Shape{3, 3}));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(out->data) % Arena::kAlignment, 0u);
  EXPECT_THAT(out->as<int16_t>(), ElementsAre(1, 2, -7, -7, -7, -7, 1, 2, 3));
  EXPECT_EQ(count.items, 9u);
  EXPECT_EQ(count.padding, 4u);
}

TEST(PaddedColumnTest, EachDimensionIsPaddedOnItsOwn) {
  Arena from, to;
  const std::vector<Cell> rows{Numbers(from, {1, 3}), Numbers(from, {2, 1})};
  PaddingCount count;
  const auto out = PadColumn({"x", DType::kInt16, {-1, -1}}, rows,
                             CommonShape(rows, Shape::Unknown()), {}, to, count);
  EXPECT_EQ(out->shape, (Shape{2, 2, 3}));
  EXPECT_THAT(out->as<int16_t>(), ElementsAre(1, 2, 3, 0, 0, 0, 1, 0, 0, 2, 0, 0));
  const Shape fixed = CommonShape(rows, Shape{-1, 4});
  EXPECT_EQ(fixed, (Shape{2, 4}));
  EXPECT_THAT(PadColumn({"x", DType::kInt16, {-1, -1}}, rows, fixed, {}, to, count)->as<int16_t>(),
              ElementsAre(1, 2, 3, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0));
}

TEST(PaddedColumnTest, ARankFiveTensorKeepsEveryItemInItsPlace) {
  Arena from, to;
  const Shape small{2, 1, 2, 1, 2}, large{2, 2, 2, 2, 3};
  const std::vector<Cell> rows{Numbers(from, small), Numbers(from, large)};
  PaddingCount count;
  const auto out = PadColumn({"x", DType::kInt16, Shape::Unknown()}, rows,
                             CommonShape(rows, Shape::Unknown()), {}, to, count);
  ASSERT_EQ(out->shape, (Shape{2, 2, 2, 2, 2, 3}));
  const auto items = out->as<int16_t>();
  int16_t next = 1;
  size_t at = 0;
  for (int a = 0; a < 2; ++a) {
    for (int b = 0; b < 2; ++b) {
      for (int c = 0; c < 2; ++c) {
        for (int d = 0; d < 2; ++d) {
          for (int e = 0; e < 3; ++e, ++at) {
            EXPECT_EQ(items[at], b < 1 && d < 1 && e < 2 ? next++ : 0) << at;
            EXPECT_EQ(items[48 + at], static_cast<int16_t>(at + 1));
          }
        }
      }
    }
  }
  EXPECT_EQ(next, 9);
}

TEST(PaddedColumnTest, ListsOfStringsArePaddedWithEmptyOnes) {
  Arena from, to;
  const std::vector<std::string_view> one{std::string_view("a\0", 2)}, none, two{"", "bc"};
  const std::vector<Cell> rows{MakeBytesCell(from, one, Shape{1}),
                               MakeBytesCell(from, none, Shape{0}),
                               MakeBytesCell(from, two, Shape{2})};
  PaddingCount count;
  const auto out = PadColumn({"x", DType::kBytes, {-1}}, rows, CommonShape(rows, Shape::Unknown()),
                             {}, to, count);
  ASSERT_EQ(out->shape, (Shape{3, 2}));
  const std::vector<std::string_view> expected{std::string_view("a\0", 2), "", "", "", "", "bc"};
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(out->string(i), expected[i]);
  const std::vector<Cell> single{MakeBytesCell(from, "xyz"), MakeBytesCell(from, "")};
  const auto strings = PadColumn({"x", DType::kBytes, {}}, single, Shape(), {}, to, count);
  EXPECT_EQ(strings->shape, Shape{2});
  EXPECT_EQ(strings->string(0), "xyz");
}

TEST(PaddedColumnTest, ScalarsAndEmptyTensorsNeedNoPadding) {
  Arena from, to;
  PaddingCount count;
  const std::vector<Cell> scalars{Numbers(from, {}), Numbers(from, {})};
  EXPECT_THAT(PadColumn({"x", DType::kInt16, {}}, scalars, Shape(), {}, to, count)->as<int16_t>(),
              ElementsAre(1, 1));
  const std::vector<Cell> empty{Numbers(from, {0, 3}), Numbers(from, {0, 2})};
  const auto out = PadColumn({"x", DType::kInt16, {-1, -1}}, empty,
                             CommonShape(empty, Shape::Unknown()), {}, to, count);
  EXPECT_EQ(out->shape, (Shape{2, 0, 3}));
  EXPECT_EQ(out->bytes, 0u);
  EXPECT_EQ(count.padding, 0u);
}

TEST(PaddedColumnTest, APadValueFitsItsTypeOrIsAnError) {
  EXPECT_EQ((*MakePadItem(255, DType::kUInt8))[0], std::byte{255});
  EXPECT_EQ((*MakePadItem(1, DType::kBool))[0], std::byte{1});
  EXPECT_EQ((*MakePadItem(0.5, DType::kFloat16))[1], std::byte{0x38});
  EXPECT_TRUE(MakePadItem(0.1, DType::kFloat32).ok());
  EXPECT_TRUE(MakePadItem(-0x1p63, DType::kInt64).ok());
  EXPECT_EQ(MakePadItem(-1, DType::kUInt8).status().message(), "pad_value -1 does not fit uint8");
  EXPECT_FALSE(MakePadItem(0.5, DType::kInt32).ok());
  EXPECT_FALSE(MakePadItem(2, DType::kBool).ok());
  EXPECT_FALSE(MakePadItem(0x1p63, DType::kInt64).ok());
}

TEST(PaddedColumnTest, ABatchOverTheLimitIsRefusedUnallocated) {
  Arena from, to;
  const std::vector<Cell> rows{Numbers(from, {1, 0})};
  PaddingCount count;
  const auto out =
      PadColumn({"x", DType::kInt16, {-1, -1}}, rows, Shape{1 << 30, 1 << 30}, {}, to, count);
  EXPECT_EQ(out.status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(to.bytes(), 0u);
}

}  // namespace
}  // namespace headrace
