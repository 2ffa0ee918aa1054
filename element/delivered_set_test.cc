#include "element/delivered_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <set>

#include "absl/time/time.h"
#include "element/roaring_reader.h"
#include "fmt/format.h"

namespace headrace {
namespace {

using ::testing::HasSubstr;

std::string Show(const DeliveredSet& set) {
  std::string text;
  set.ForEachRun([&](const Run& r) {
    text += fmt::format("{}.{}[{}+{}{}] ", r.split, r.pass, r.first, r.count,
                        r.parts > 1 ? fmt::format(" {}/{}", r.part, r.parts) : "");
  });
  return text;
}

DeliveredSet Again(const DeliveredSet& set) {
  DeliveredSet again;
  const absl::Status status = again.Merge(set.Encode());
  EXPECT_TRUE(status.ok()) << status;
  return again;
}

TEST(DeliveredSetTest, RunsMeetWhateverTheirOrder) {
  DeliveredSet set;
  set.Add({3, 5, 5});
  set.Add({3, 0, 2});
  set.Add({1, 0, 4, 0, 1, 2});
  EXPECT_EQ(Show(set), "3.0[0+2] 3.0[5+5] 1.2[0+4] ");
  set.Add({3, 1, 6});
  set.Add({3, 1, 6});
  EXPECT_EQ(Show(set), "3.0[0+10] 1.2[0+4] ");
  EXPECT_EQ(set.records(), 14u);
  EXPECT_EQ(set.Encode().open_size(), 0);
  EXPECT_TRUE(set.Contains({3, 9, 1}));
  EXPECT_FALSE(set.Contains({3, 9, 2}));
}

TEST(DeliveredSetTest, PartsMakeARecordWithTheLastOfThem) {
  DeliveredSet set;
  set.Add({0, 7, 1, 0, 3});
  set.Add({0, 7, 1, 2, 3});
  EXPECT_EQ(Show(Again(set)), "0.0[7+1 0/3] 0.0[7+1 2/3] ");
  EXPECT_FALSE(set.Contains({0, 7, 1}));
  EXPECT_TRUE(set.Contains({0, 7, 1, 2, 3}));
  set.Add({0, 7, 1, 1, 3});
  EXPECT_EQ(Show(Again(set)), "0.0[7+1] ");
  set.Add({0, 8, 1, 0, 2});
  set.Add({0, 8, 1});
  EXPECT_EQ(Show(set), "0.0[7+2] ");
}

TEST(DeliveredSetTest, ItAgreesWithAnOrdinarySetAndWithWhatItWroteItself) {
  std::mt19937 random(11);
  for (int round = 0; round < 20; ++round) {
    DeliveredSet set;
    std::set<std::pair<uint64_t, uint64_t>> plain;
    const uint64_t records = round % 2 == 0 ? 300 : 150'000;
    for (int i = 0; i < 3000; ++i) {
      const uint64_t split = random() % 4;
      const uint64_t first = random() % records;
      const uint64_t count = random() % 3 == 0 ? random() % 60 : 1;
      set.Add({split, first, count});
      for (uint64_t j = first; j < first + count; ++j) plain.emplace(split, j);
    }
    ASSERT_EQ(set.records(), plain.size());
    const DeliveredSet again = Again(set);
    ASSERT_EQ(Show(again), Show(set));
    for (uint64_t j = 0; j < records; j += 7) {
      ASSERT_EQ(again.Contains({2, j, 1}), plain.contains({2, j})) << j;
    }
    DeliveredSet shares;
    for (uint64_t which = 0; which < 3; ++which) {
      ASSERT_TRUE(shares.Merge(set.EncodeShare(which, 3)).ok());
    }
    ASSERT_EQ(Show(shares), Show(set));
  }
}

TEST(DeliveredSetTest, WholeSplitsCostNextToNothing) {
  DeliveredSet set;
  for (uint64_t split = 0; split < 10'000; ++split) {
    set.Add({split, 0, 512});
    set.SetNeed(split, 0, 500);
  }
  const v1::DeliveredSet encoded = set.Encode();
  EXPECT_LT(encoded.ByteSizeLong(), 40u);
  DeliveredSet again;
  ASSERT_TRUE(again.Merge(encoded).ok());
  uint64_t needs = 0;
  again.ForEachNeed([&](uint64_t, uint32_t, uint64_t need) { needs += need == 500; });
  EXPECT_EQ(needs, 10'000u);
}

// The promise of docs/resume.md; the time is bounded loosely here and measured in the release
// build.
TEST(DeliveredSetTest, AShuffleOf10000RecordsOver1000SplitsStaysWithin64KiB) {
  std::mt19937_64 random(5);
  DeliveredSet set;
  std::vector<headrace::Run> buffer;
  size_t largest = 0;
  absl::Duration slowest;
  for (uint64_t split = 0; split < 1000; ++split) {
    for (uint64_t record = 0; record < 1000; ++record) {
      const headrace::Run run{split, record, 1};
      if (buffer.size() < 10'000) {
        buffer.push_back(run);
        continue;
      }
      set.Add(std::exchange(buffer[random() % buffer.size()], run));
    }
    if (split % 100 != 99) continue;
    const auto began = std::chrono::steady_clock::now();
    largest = std::max(largest, set.Encode().SerializeAsString().size());
    slowest = std::max(slowest, absl::FromChrono(std::chrono::steady_clock::now() - began));
  }
  RecordProperty("bytes", static_cast<int>(largest));
  RecordProperty("microseconds", static_cast<int>(absl::ToInt64Microseconds(slowest)));
  fmt::print("largest state {} bytes, slowest {}\n", largest, absl::FormatDuration(slowest));
  EXPECT_LE(largest, 64u << 10);
  EXPECT_LE(slowest, absl::Milliseconds(50));
}

TEST(DeliveredSetTest, WhatIsNoStateIsRefused) {
  const auto refuse = [](auto change, const char* why) {
    v1::DeliveredSet encoded;
    change(encoded);
    DeliveredSet set;
    set.Add({1, 0, 2});
    const absl::Status status = set.Merge(encoded);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(why));
    EXPECT_EQ(Show(set), "1.0[0+2] ");
  };
  refuse([](auto& e) { e.add_prefixes(); }, "0 numbers");
  refuse(
      [](auto& e) {
        e.add_prefixes()->add_numbers(5);
        e.mutable_prefixes(0)->set_repeat(uint64_t{1} << 40);
      },
      "splits");
  refuse(
      [](auto& e) {
        e.add_prefixes()->add_numbers(5);
        e.mutable_prefixes(0)->set_split(~uint64_t{0});
      },
      "beyond any");
  refuse([](auto& e) { e.add_needs()->add_numbers(~uint64_t{0}); }, "records");
  refuse([](auto& e) { e.add_open()->set_records("nonsense"); }, "split 0 pass 0: 8 bytes");
  refuse([](auto& e) { e.add_open(); }, "Roaring");
  refuse([](auto& e) { e.add_parts(); }, "part 0 of 0");
}

// Flipped and cut bytes of real bitmaps of every container kind.
TEST(RoaringReaderTest, DamagedBytesAreRefusedOrAnotherSet) {
  Roaring bits;
  for (uint32_t i = 0; i < 3000; ++i) bits.add(i * 7);              // an array
  bits.addRange(70'000, 90'000);                                    // runs
  for (uint32_t i = 0; i < 20'000; ++i) bits.add(200'000 + 3 * i);  // a bitset
  for (const bool optimize : {false, true}) {
    if (optimize) bits.runOptimize();
    std::string bytes(bits.getSizeInBytes(), '\0');
    bytes.resize(bits.write(bytes.data()));
    Roaring read;
    const auto add = [&](uint64_t first, uint64_t count) { read.addRange(first, first + count); };
    ASSERT_TRUE(ReadPortableRoaring(bytes, add).ok());
    EXPECT_TRUE(read == bits);
    const auto ignore = [](uint64_t first, uint64_t count) {
      ASSERT_LE(first + count, uint64_t{1} << 32);
    };
    std::mt19937 random(3);
    for (int i = 0; i < 3000; ++i) {
      std::string damaged = bytes;
      damaged[random() % (i % 2 == 0 ? 64 : damaged.size())] ^=
          static_cast<char>(1 + random() % 255);
      (void)ReadPortableRoaring(damaged, ignore);
    }
    for (size_t cut = 0; cut < bytes.size(); cut += cut < 100 ? 1 : 97) {
      EXPECT_FALSE(ReadPortableRoaring(bytes.substr(0, cut), ignore).ok());
    }
    EXPECT_FALSE(ReadPortableRoaring(bytes + '\0', ignore).ok());
  }
}

}  // namespace
}  // namespace headrace
