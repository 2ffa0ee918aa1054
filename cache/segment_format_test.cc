#include "cache/segment_format.h"

#include <random>

#include "cache/test_splits.h"
#include "gtest/gtest.h"

namespace headrace::cache_test {
namespace {

std::span<const std::byte> Bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

SegmentIndex SomeIndex() {
  SegmentIndex index;
  index.chunks = {{.offset = 4096, .bytes = 5000, .checksum = 1, .frames = 2},
                  {.offset = 12288, .bytes = 100, .checksum = 2, .frames = 1}};
  index.frames = {{.count = 10, .offset = 0, .bytes = 64},
                  {.count = 5, .offset = 64, .bytes = 4936},
                  {.count = 7, .offset = 0, .bytes = 100}};
  index.records = 22;
  return index;
}

struct Written {
  std::string header = WriteSegmentHeader(KeyOf(1));
  uint64_t footer_offset = 16384;
  std::string end = WriteSegmentEnd(SomeIndex(), footer_offset, header);

  absl::StatusOr<SegmentIndex> Parse() const {
    const auto key = ParseSegmentHeader(Bytes(header));
    if (!key.ok()) return key.status();
    if (!(*key == KeyOf(1))) return absl::NotFoundError("another key");
    const auto trailer = ParseSegmentTrailer(Bytes(end).last(kSegmentTrailerBytes), Bytes(header),
                                             footer_offset + end.size());
    if (!trailer.ok()) return trailer.status();
    return ParseSegmentFooter(Bytes(end).first(trailer->footer_bytes), *trailer);
  }
};

TEST(SegmentFormatTest, WhatIsWrittenIsRead) {
  const Written written;
  EXPECT_EQ(written.header.size(), kSegmentAlignment);
  EXPECT_EQ(written.end.size(), SegmentEndBytes(2, 3));
  const auto index = written.Parse();
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_EQ(index->records, 22u);
  EXPECT_EQ(index->chunks[1].offset, 12288u);
  EXPECT_EQ(index->frames[1].bytes, 4936u);
}

TEST(SegmentFormatTest, EveryFlippedBitThatMattersIsSeen) {
  const auto good = Written().Parse();
  for (size_t bit = 0; bit < kSegmentAlignment * 8; bit += 7) {
    Written header;
    header.header[bit / 8] = static_cast<char>(header.header[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(header.Parse().ok()) << "header bit " << bit;
    Written end;
    end.end[bit / 8] = static_cast<char>(end.end[bit / 8] ^ (1 << (bit % 8)));
    const auto index = end.Parse();
    if (!index.ok()) continue;
    // Padding between footer and trailer.
    EXPECT_GE(bit / 8, size_t{2 * 32 + 3 * 24});
    EXPECT_LT(bit / 8, end.end.size() - kSegmentTrailerBytes);
    EXPECT_EQ(index->records, good->records);
  }
}

TEST(SegmentFormatTest, ReasonsAreToldApart) {
  Written foreign;
  foreign.header = WriteSegmentHeader(KeyOf(2));
  EXPECT_EQ(ReasonOf(foreign.Parse().status()), CacheDrop::kForeign);
  Written mixed;
  mixed.end = WriteSegmentEnd(SomeIndex(), mixed.footer_offset, WriteSegmentHeader(KeyOf(2)));
  EXPECT_EQ(ReasonOf(mixed.Parse().status()), CacheDrop::kForeign);
  Written other_format;
  other_format.header.replace(0, 8, "SOMEFILE");
  EXPECT_EQ(ReasonOf(other_format.Parse().status()), CacheDrop::kForeign);
  Written older;
  older.header[8] = 0;
  EXPECT_EQ(ReasonOf(older.Parse().status()), CacheDrop::kVersion);
  Written flipped;
  flipped.header[30] ^= 1;
  EXPECT_EQ(ReasonOf(flipped.Parse().status()), CacheDrop::kDamaged);
  Written torn;
  torn.end.replace(torn.end.size() - 64, 64, std::string(64, '\0'));
  EXPECT_EQ(ReasonOf(torn.Parse().status()), CacheDrop::kTorn);
  Written longer;
  longer.footer_offset += 4096;
  EXPECT_EQ(ReasonOf(longer.Parse().status()), CacheDrop::kTorn);
  Written cut;
  cut.header.resize(100);
  EXPECT_EQ(ReasonOf(cut.Parse().status()), CacheDrop::kTorn);
}

TEST(SegmentFormatTest, NamesGoThereAndBackAndOthersAreNotOurs) {
  CacheKey key;
  uint64_t serial = 0;
  ASSERT_TRUE(ParseSegmentFileName(SegmentFileName(KeyOf(3, 4, 5), 0xabc), key, serial));
  EXPECT_EQ(key, KeyOf(3, 4, 5));
  EXPECT_EQ(serial, 0xabcu);
  const std::string good = SegmentFileName(KeyOf(3), 1);
  for (const std::string& name :
       {std::string("data.tfrecord"), std::string(".hrseg"), good + ".tmp", "x" + good.substr(1),
        good.substr(1), std::string(good.size(), 'a'), std::string()}) {
    EXPECT_FALSE(ParseSegmentFileName(name, key, serial)) << name;
  }
}

}  // namespace
}  // namespace headrace::cache_test
