#include "element/packed_row.h"

#include <string>

#include "gtest/gtest.h"

namespace headrace {
namespace {

SchemaPtr TestSchema() {
  return std::make_shared<const Schema>(
      std::vector<Field>{{"text", DType::kBytes, {}},
                         {"cube", DType::kFloat64, Shape::Unknown()},
                         {"words", DType::kBytes, {-1}},
                         {"none", DType::kInt64, {-1}}});
}

TEST(PackedRowTest, ARowOutlivesItsBlockUnchanged) {
  const std::string text("a\0b", 3);
  const std::vector<double> cube{1, 2, 3, 4, 5, 6};
  const std::vector<std::string_view> words{"", "xyz", std::string_view("\0", 1)};
  std::vector<PackedRow> rows;
  {
    Block block(TestSchema());
    for (uint64_t i = 0; i < 3; ++i) {
      Arena& arena = block.arena();
      const Cell cells[] = {
          MakeBytesCell(arena, text), MakeCell<double>(arena, cube, Shape{1, 2, 1, 3, 1}),
          MakeBytesCell(arena, words, Shape{3}), MakeCell<int64_t>(arena, {}, Shape{0})};
      block.AppendRow({RunOf({.split = 4, .index = i})}, cells);
    }
    for (size_t i = 0; i < 3; ++i) rows.emplace_back(block, i);
  }
  EXPECT_EQ(rows[1].provenance()[0].first, 1u);
  EXPECT_GE(rows[1].bytes(), sizeof(PackedRow) + 3 + 48 + 36);
  Block out(TestSchema());
  std::vector<Cell> scratch;
  rows[1].AppendTo(out, scratch);
  rows.clear();
  ASSERT_EQ(out.rows(), 1u);
  EXPECT_EQ(out.provenance(0), Provenance{RunOf({.split = 4, .index = 1})});
  EXPECT_EQ(out.column(0)[0].string(), text);
  EXPECT_EQ(out.column(1)[0].shape, (Shape{1, 2, 1, 3, 1}));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(out.column(1)[0].data) % 16, 0u);
  const auto values = out.column(1)[0].as<double>();
  EXPECT_EQ(std::vector<double>(values.begin(), values.end()), cube);
  for (size_t i = 0; i < words.size(); ++i) EXPECT_EQ(out.column(2)[0].string(i), words[i]);
  EXPECT_EQ(out.column(3)[0].shape, Shape{0});
}

SchemaPtr TextSchema() {
  return std::make_shared<const Schema>(std::vector<Field>{{"text", DType::kBytes, {}}});
}

// A block of one row of `bytes` bytes, all `fill`.
Block TextBlock(size_t bytes, char fill) {
  Block block(TextSchema());
  const Cell cell = MakeBytesCell(block.arena(), std::string(bytes, fill));
  block.AppendRow({RunOf({.index = bytes})}, {&cell, 1});
  return block;
}

TEST(PackedRowTest, ASmallRowsMemoryServesTheNextAndALargeOnesMovesOn) {
  std::vector<Cell> scratch;
  for (const size_t bytes : {size_t{900}, size_t{100'000}}) {
    PackedRow row(TextBlock(bytes, 'a'), 0);
    const size_t full = row.bytes();
    Block out(TextSchema());
    row.AppendTo(out, scratch);
    EXPECT_EQ(row.bytes(), bytes == 900 ? full : sizeof(PackedRow));
    row.Pack(TextBlock(bytes - 100, 'b'), 0);  // must not change what went out
    row.AppendTo(out, scratch);
    ASSERT_EQ(out.rows(), 2u);
    EXPECT_EQ(out.column(0)[0].string(), std::string(bytes, 'a'));
    EXPECT_EQ(out.column(0)[1].string(), std::string(bytes - 100, 'b'));
    EXPECT_GE(out.arena().bytes(), 2 * bytes - 100);
    row.Pack(TextBlock(10, 'c'), 0);  // a much smaller one does not keep the memory of a large one
    EXPECT_LT(row.bytes(), sizeof(PackedRow) + 100);
  }
}

TEST(PackedRowTest, AllRunsOfABatchTravelAlong) {
  Block block(std::make_shared<const Schema>(std::vector<Field>{{"x", DType::kInt8, {}}}));
  const Cell cell = MakeScalarCell<int8_t>(block.arena(), 5);
  const Provenance runs{{.split = 1, .first = 2, .count = 3}, {.split = 2, .first = 0, .count = 9}};
  block.AppendRow(runs, {&cell, 1});
  PackedRow row(block, 0);
  EXPECT_GE(row.bytes(), sizeof(PackedRow) + 2 * sizeof(headrace::Run));
  Block out(block.schema_ptr());
  std::vector<Cell> scratch;
  row.AppendTo(out, scratch);
  EXPECT_EQ(out.provenance(0), runs);
  EXPECT_EQ(out.column(0)[0].as<int8_t>()[0], 5);
}

}  // namespace
}  // namespace headrace
