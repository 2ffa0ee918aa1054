#include "pipeline/imaging/jpeg_huffman.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace headrace {
namespace {

using Kind = HuffmanTable::Kind;

struct Spec {
  std::array<uint8_t, 16> counts{};
  std::array<uint8_t, 256> values{};

  HuffmanTable Table(Kind kind = Kind::kAc) const { return {kind, counts.data(), values.data()}; }
};

// A code tree grown at random, with the symbols of an AC table in random order.
Spec RandomSpec(std::mt19937& random) {
  std::vector<uint8_t> symbols = {0x00, 0xf0};
  for (int run = 0; run < 16; ++run) {
    for (int bits = 1; bits <= 10; ++bits) symbols.push_back(static_cast<uint8_t>(run << 4 | bits));
  }
  std::shuffle(symbols.begin(), symbols.end(), random);
  Spec spec;
  std::copy(symbols.begin(), symbols.end(), spec.values.begin());
  size_t used = 0;
  uint32_t free = 1;  // nodes of this depth that are not codes
  for (size_t length = 1; length <= 16; ++length) {
    free *= 2;
    // One at least stays free: all ones is no code.
    const size_t most = std::min<size_t>(free - 1, symbols.size() - used);
    const size_t count = std::min<size_t>(random() % (1 + most), 255);
    spec.counts[length - 1] = static_cast<uint8_t>(count);
    used += count;
    free = std::min<uint32_t>(free - static_cast<uint32_t>(count), 1u << 12);
  }
  return spec;
}

// By the book: bit by bit, figure F.16 of T.81.
HuffmanSymbol Walk(const Spec& spec, uint64_t bits) {
  uint32_t code = 0, first = 0;
  size_t next = 0;
  for (uint32_t length = 1; length <= 16; ++length) {
    code = code << 1 | static_cast<uint32_t>(bits >> (64 - length) & 1);
    first <<= 1;
    const uint32_t count = spec.counts[length - 1];
    if (code < first + count) {
      const uint8_t value = spec.values[next + code - first];
      if (value == 0) return HuffmanSymbol::Make(length, 0, HuffmanSymbol::kEndOfBlock);
      return HuffmanSymbol::Make(length, value & 15u, (value >> 4) + 1u);
    }
    next += count;
    first += count;
  }
  return {};
}

TEST(HuffmanTableTest, EveryCodeOfRandomTablesIsFound) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    const Spec spec = RandomSpec(random);
    HuffmanTable table = spec.Table();
    if (spec.counts == std::array<uint8_t, 16>{}) continue;
    ASSERT_TRUE(table.Validate());
    table.BuildLookup();
    for (uint64_t head = 0; head < 1 << 16; head += 1 + random() % 7) {
      const uint64_t bits = head << 48;
      const HuffmanSymbol want = Walk(spec, bits);
      ASSERT_EQ(table.Find(bits).packed, want.packed) << round << " " << head;
      const HuffmanSymbol quick = table.lookup()[bits >> (64 - HuffmanTable::kLookupBits)];
      if (want.code_bits() >= 1 && want.code_bits() <= HuffmanTable::kLookupBits) {
        ASSERT_EQ(quick.packed, want.packed);
      } else {
        ASSERT_EQ(quick.advance(), HuffmanSymbol::kUnknown);
      }
    }
  }
}

TEST(HuffmanTableTest, AHopIsItsSymbolsOneByOne) {
  std::mt19937 random(2);
  int several = 0, unknown = 0, ends = 0;
  for (int round = 0; round < 100; ++round) {
    const Spec spec = RandomSpec(random);
    if (spec.counts == std::array<uint8_t, 16>{}) continue;
    HuffmanTable table = spec.Table();
    ASSERT_TRUE(table.Validate());
    table.BuildHops();
    for (uint64_t head = 0; head < 1 << HuffmanTable::kHopBits; ++head) {
      const uint64_t bits = head << (64 - HuffmanTable::kHopBits);
      uint32_t at = 0, advance = 0;
      int symbols = 0;
      while (at < HuffmanTable::kHopBits) {
        const HuffmanSymbol symbol = Walk(spec, bits << at);
        // Only what the looked-up bits themselves say.
        if (symbol.advance() == HuffmanSymbol::kUnknown ||
            at + symbol.code_bits() > HuffmanTable::kHopBits) {
          break;
        }
        ++symbols;
        at += symbol.bits();
        if (symbol.advance() == HuffmanSymbol::kEndOfBlock) {
          advance += HuffmanHop::kEnd;
          ++ends;
          break;
        }
        advance += symbol.advance();
      }
      several += symbols > 1;
      unknown += symbols == 0;
      const HuffmanHop hop = table.hops()[head];
      ASSERT_EQ(hop.bits(), at) << round << " " << head;
      ASSERT_EQ(hop.advance(), symbols == 0 ? HuffmanHop::kUnknown : advance);
    }
  }
  EXPECT_GT(several, 1000);
  EXPECT_GT(unknown, 100);
  EXPECT_GT(ends, 1000);
}

TEST(HuffmanTableTest, WhatIsNoTableOfAnEightBitFileIsRefused) {
  Spec good;
  good.counts = {0, 2, 1};
  good.values = {0x00, 0x01, 0xf0};
  EXPECT_TRUE(good.Table().Validate());
  Spec full = good;  // the last code is all ones
  full.counts = {0, 2, 4};
  EXPECT_FALSE(full.Table().Validate());
  Spec over = good;
  over.counts = {3};
  EXPECT_FALSE(over.Table().Validate());
  Spec long_value = good;
  long_value.values[1] = 0x0b;
  EXPECT_FALSE(long_value.Table().Validate());
  EXPECT_FALSE(long_value.Table(Kind::kDc).Validate());  // 0xf0 is no size of a difference
  Spec band_end = good;                                  // of progressive files
  band_end.values[1] = 0x30;
  EXPECT_FALSE(band_end.Table().Validate());
  Spec dc = good;
  dc.values = {0, 11, 5};
  EXPECT_TRUE(dc.Table(Kind::kDc).Validate());
  dc.values[2] = 12;
  EXPECT_FALSE(dc.Table(Kind::kDc).Validate());
  EXPECT_FALSE(Spec().Table().Validate());
}

TEST(HuffmanTableCacheTest, ASmallFilesTablesAreBuiltAtTheirSecondSight) {
  HuffmanTableCache cache;
  std::mt19937 random(3);
  std::vector<Spec> specs;
  while (specs.size() < 12) {
    const Spec spec = RandomSpec(random);
    if (spec.Table().Validate()) specs.push_back(spec);
  }
  const auto get = [&](const Spec& spec, bool worth) {
    return cache.Get(Kind::kAc, spec.counts.data(), spec.values.data(), worth);
  };
  cache.BeginFile();
  EXPECT_EQ(get(specs[0], false), nullptr);
  EXPECT_EQ(get(specs[0], false), nullptr);  // another component of the same file
  EXPECT_NE(get(specs[1], true), nullptr);
  cache.BeginFile();
  const HuffmanTable* const again = get(specs[0], false);
  EXPECT_NE(again, nullptr);
  EXPECT_EQ(get(specs[0], false), again);
  // A file's own tables outlast all others that it brings.
  for (size_t i = 2; i < specs.size(); ++i) (void)get(specs[i], true);
  EXPECT_EQ(get(specs[0], false), again);
}

}  // namespace
}  // namespace headrace
