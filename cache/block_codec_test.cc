#include "cache/block_codec.h"

#include "cache/test_splits.h"
#include "gtest/gtest.h"

namespace headrace::cache_test {
namespace {

SchemaPtr SomeSchema() {
  return std::make_shared<const Schema>(
      Schema({{"x", DType::kInt64, Shape()},
              {"image", DType::kUInt8, Shape({Shape::kDynamic, 3})},
              {"text", DType::kBytes, Shape()},
              {"words", DType::kBytes, Shape({Shape::kDynamic})}}));
}

// Rows of the given records of split 4.
Block SomeBlock(const std::vector<uint64_t>& records) {
  Block block(SomeSchema());
  for (const uint64_t record : records) {
    std::vector<uint8_t> pixels((record % 4 + 1) * 3, static_cast<uint8_t>(record));
    const std::string text(record % 7, 't');
    const std::vector<std::string_view> words(record % 3, "word");
    const Cell cells[] = {MakeScalarCell<int64_t>(block.arena(), static_cast<int64_t>(record * 10)),
                          MakeCell<uint8_t>(block.arena(), std::span<const uint8_t>(pixels),
                                            Shape({static_cast<int64_t>(record % 4 + 1), 3})),
                          MakeBytesCell(block.arena(), text),
                          MakeBytesCell(block.arena(), std::span<const std::string_view>(words),
                                        Shape({static_cast<int64_t>(words.size())}))};
    block.AppendRow({headrace::Run{.split = 4, .first = record, .count = 1}}, cells);
  }
  return block;
}

StoredFrame Store(const CoveredFrame& covered) {
  StoredFrame stored{.first = covered.first, .count = covered.count, .frame = {}};
  if (covered.frame.bytes == 0) return stored;
  std::shared_ptr<std::byte> memory = AllocateFrameBytes(covered.frame.bytes).value();
  CopyFrame(covered.frame, memory.get());
  stored.frame = {memory, covered.frame.bytes};
  return stored;
}

TEST(BlockCodecTest, RowsComeBackUnderAnotherSplitsNumberWithTheirRecords) {
  const Block block = SomeBlock({3, 4, 5, 8, 9, 11});
  const auto frames = EncodeBlock(block, 2, 12);
  ASSERT_TRUE(frames.ok()) << frames.status();
  ASSERT_EQ(frames->size(), 1u);
  const auto back = DecodeFrame(Store((*frames)[0]), SomeSchema(), 77);
  ASSERT_TRUE(back.ok()) << back.status();
  ASSERT_EQ(back->rows(), block.rows());
  for (size_t row = 0; row < block.rows(); ++row) {
    EXPECT_EQ(back->provenance(row).front().split, 77u);
    EXPECT_EQ(back->provenance(row).front().first, block.provenance(row).front().first);
    for (size_t field = 0; field < 4; ++field) {
      const Cell& a = block.column(field)[row];
      const Cell& b = back->column(field)[row];
      EXPECT_EQ(a.shape, b.shape);
      ASSERT_EQ(a.bytes, b.bytes) << field;
      EXPECT_EQ(std::memcmp(a.data, b.data, a.bytes), 0) << field;
    }
  }
  std::vector<uint64_t> settled;
  for (const headrace::Run& run : back->settled()) {
    EXPECT_EQ(run.split, 77u);
    for (uint64_t i = 0; i < run.count; ++i) settled.push_back(run.first + i);
  }
  EXPECT_EQ(settled, (std::vector<uint64_t>{2, 6, 7, 10, 12, 13}));
}

TEST(BlockCodecTest, ABlockWithoutRowsSettlesItsRecords) {
  const auto frames = EncodeBlock(SomeBlock({}), 5, 3);
  ASSERT_TRUE(frames.ok());
  const auto back = DecodeFrame(Store((*frames)[0]), SomeSchema(), 1);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->rows(), 0u);
  EXPECT_EQ(back->settled(), (std::vector<headrace::Run>{{.split = 1, .first = 5, .count = 3}}));
}

TEST(BlockCodecTest, RowsOutOfOrderAreNotKept) {
  EXPECT_FALSE(EncodeBlock(SomeBlock({4, 3}), 0, 10).ok());
  EXPECT_FALSE(EncodeBlock(SomeBlock({4, 4}), 0, 10).ok());
  EXPECT_FALSE(EncodeBlock(SomeBlock({4}), 5, 10).ok());
  EXPECT_FALSE(EncodeBlock(SomeBlock({15}), 5, 10).ok());
}

TEST(BlockCodecTest, AFrameOfAnotherSchemaOrRangeIsRefused) {
  const Block block = SomeBlock({3, 4});
  StoredFrame stored = Store(EncodeBlock(block, 3, 2).value()[0]);
  const auto other = std::make_shared<const Schema>(Schema({{"x", DType::kInt64, Shape()}}));
  EXPECT_TRUE(absl::IsDataLoss(DecodeFrame(stored, other, 1).status()));
  std::vector<Field> fields = SomeSchema()->fields();
  fields[0].dtype = DType::kFloat64;
  EXPECT_TRUE(absl::IsDataLoss(
      DecodeFrame(stored, std::make_shared<const Schema>(Schema(fields)), 1).status()));
  fields = SomeSchema()->fields();
  fields[1].shape = Shape({4, 3});
  EXPECT_TRUE(absl::IsDataLoss(
      DecodeFrame(stored, std::make_shared<const Schema>(Schema(fields)), 1).status()));
  stored.first = 4;
  EXPECT_TRUE(absl::IsDataLoss(DecodeFrame(stored, SomeSchema(), 1).status()));
  stored.first = 2;
  EXPECT_TRUE(absl::IsDataLoss(DecodeFrame(stored, SomeSchema(), 1).status()));
}

}  // namespace
}  // namespace headrace::cache_test
