#include "transport/shm/shm_pool.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <random>

#include "common/fake_clock.h"
#include "gtest/gtest.h"
#include "transport/shm/frame_placer.h"
#include "transport/shm/shared_memory.h"

namespace headrace {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

class ShmPoolTest : public ::testing::Test {
 protected:
  std::shared_ptr<ShmPool> Pool(size_t max_bytes) {
    auto pool = ShmPool::Create({.max_bytes = max_bytes}, clock_);
    pool->AddReader();
    return pool;
  }
  FakeClock clock_;
};

TEST_F(ShmPoolTest, GrowsToItsLimitAndNoFurther) {
  auto pool = Pool(8 * kMiB);
  std::vector<std::shared_ptr<std::byte>> taken;
  while (auto slot = pool->Take(kMiB)) {
    std::memset(slot.get(), 1, kMiB);
    taken.push_back(std::move(slot));
    ASSERT_LE(taken.size(), 8u);
  }
  EXPECT_EQ(taken.size(), 8u);
  EXPECT_LE(pool->total_bytes(), 8 * kMiB);
  EXPECT_EQ(pool->used_bytes(), 8 * kMiB);
  taken.pop_back();
  EXPECT_NE(pool->Take(kMiB), nullptr);
  EXPECT_EQ(pool->Take(9 * kMiB), nullptr);
}

TEST_F(ShmPoolTest, SlotsOfAnySizeAreApartAndAligned) {
  auto pool = Pool(256 * kMiB);
  std::mt19937 rng(4);
  std::vector<std::pair<std::shared_ptr<std::byte>, size_t>> taken;
  for (int i = 0; i < 200; ++i) {
    const size_t size = 1 + rng() % (i % 10 == 0 ? 3 * kMiB : 100000);
    auto slot = pool->Take(size);
    ASSERT_NE(slot, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(slot.get()) % kFrameAlignment, 0u);
    std::memset(slot.get(), i, size);
    taken.emplace_back(std::move(slot), size);
    if (i % 3 == 0) taken.erase(taken.begin());
  }
  std::vector<std::pair<const std::byte*, size_t>> ranges;
  for (const auto& [slot, size] : taken) ranges.emplace_back(slot.get(), size);
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 1; i < ranges.size(); ++i)
    EXPECT_LE(ranges[i - 1].first + ranges[i - 1].second, ranges[i].first);
}

TEST_F(ShmPoolTest, WhatLiesUnusedIsLetGoAndSaid) {
  auto pool = Pool(64 * kMiB);
  auto kept = pool->Take(kMiB);
  pool->Take(3 * kMiB).reset();
  EXPECT_EQ(pool->segments(), 2u);
  pool->Trim();
  EXPECT_EQ(pool->segments(), 2u);
  clock_.Advance(absl::Seconds(11));
  pool->Trim();
  EXPECT_EQ(pool->segments(), 1u);
  EXPECT_EQ(pool->TakeRetired().size(), 1u);
  kept.reset();
  clock_.Advance(absl::Seconds(11));
  pool->Trim();
  EXPECT_EQ(pool->total_bytes(), 0u);
}

TEST_F(ShmPoolTest, ASizeThatNobodyAsksForAnyMoreMakesRoom) {
  auto pool = Pool(8 * kMiB);
  for (int i = 0; i < 8; ++i) pool->Take(kMiB).reset();
  std::vector<std::shared_ptr<std::byte>> large;
  for (int i = 0; i < 4; ++i) large.push_back(pool->Take(2 * kMiB));
  for (const auto& slot : large) EXPECT_NE(slot, nullptr);
  EXPECT_LE(pool->total_bytes(), 8 * kMiB);
}

TEST_F(ShmPoolTest, WithoutReadersAndOnceClosedThereIsNone) {
  auto pool = ShmPool::Create({}, clock_);
  EXPECT_EQ(pool->Take(kMiB), nullptr);
  pool->AddReader();
  auto slot = pool->Take(kMiB);
  ASSERT_NE(slot, nullptr);
  pool->Close();
  EXPECT_EQ(pool->Take(kMiB), nullptr);
  slot.reset();
  EXPECT_EQ(pool->used_bytes(), 0u);
}

TEST_F(ShmPoolTest, StaysOpenBetweenTheReadersOfTwoEpochsButNotForever) {
  auto pool = Pool(8 * kMiB);
  const std::byte* first = pool->Take(kMiB).get();
  pool->RemoveReader();
  clock_.Advance(absl::Seconds(9));
  EXPECT_EQ(pool->Take(kMiB).get(), first);  // the warm one, in time for the next epoch's reader
  clock_.Advance(absl::Seconds(2));
  EXPECT_EQ(pool->Take(kMiB), nullptr);
}

TEST_F(ShmPoolTest, AClientCanNeitherShrinkNorWriteASegment) {
  auto pool = Pool(8 * kMiB);
  auto slot = pool->Take(kMiB);
  std::memset(slot.get(), 42, kMiB);
  const auto place = pool->Find(slot.get(), kMiB);
  ASSERT_TRUE(place.has_value());
  auto sharing = pool->Share(place->segment);
  ASSERT_TRUE(sharing.has_value());
  EXPECT_NE(ftruncate(sharing->memory.get(), 0), 0);
  EXPECT_EQ(
      mmap(nullptr, sharing->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, sharing->memory.get(), 0),
      MAP_FAILED);
  auto mapped = MappedMemory::Map(sharing->memory, sharing->bytes);
  ASSERT_TRUE(mapped.ok()) << mapped.status();
  EXPECT_EQ((*mapped)->data()[place->offset], std::byte{42});
}

TEST_F(ShmPoolTest, MemoryThatCouldShrinkIsNotMapped) {
  const FileDescriptor loose(memfd_create("loose", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(loose.get(), 4096), 0);
  EXPECT_EQ(MappedMemory::Map(loose, 4096).status().code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_EQ(fcntl(loose.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
  EXPECT_TRUE(MappedMemory::Map(loose, 4096).ok());
  EXPECT_FALSE(MappedMemory::Map(loose, 8192).ok());
  const FileDescriptor no_memory(open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_FALSE(MappedMemory::Map(no_memory, 4096).ok());
}

// --- How frames are placed.

Frame FrameOf(std::vector<FrameSlice> slices, bool whole_columns) {
  Frame frame;
  frame.header.assign(64, 'h');
  frame.bytes = 64;
  for (const FrameSlice& slice : slices) frame.bytes += slice.size;
  frame.payload = std::move(slices);
  frame.whole_columns = whole_columns;
  return frame;
}

TEST_F(ShmPoolTest, AColumnInThePoolIsLentAndWhatLiesBesideGoesInline) {
  auto pool = Pool(8 * kMiB);
  auto column = pool->Take(kMiB);
  const std::vector<std::byte> label(100, std::byte{1});
  const Frame frame = FrameOf({{column.get(), kMiB}, {label.data(), 100}}, true);
  const size_t used = pool->used_bytes();
  const PlacedFrame placed = PlaceFrame(frame, *pool);
  EXPECT_EQ(placed.copy, nullptr);
  EXPECT_EQ(pool->used_bytes(), used);
  ASSERT_EQ(placed.notice.places.size(), 3u);
  EXPECT_NE(placed.notice.places[1].segment, FramePlace::kInline);
  EXPECT_EQ(placed.notice.places[1].size, kMiB);
  EXPECT_EQ(placed.notice.inline_bytes, 164u);
}

TEST_F(ShmPoolTest, AFrameWhoseColumnsAreCutIsCopiedIntoASlot) {
  auto pool = Pool(8 * kMiB);
  auto column = pool->Take(kMiB);
  const Frame frame =
      FrameOf({{column.get(), kMiB / 2}, {column.get() + kMiB / 2, kMiB / 2}}, false);
  const PlacedFrame placed = PlaceFrame(frame, *pool);
  ASSERT_NE(placed.copy, nullptr);
  EXPECT_EQ(placed.notice.places.size(), 1u);
  EXPECT_EQ(placed.notice.inline_bytes, 0u);
}

TEST_F(ShmPoolTest, WithoutASlotAFrameGoesInline) {
  auto pool = Pool(kMiB);
  const std::vector<std::byte> bytes(2 * kMiB);
  const PlacedFrame placed = PlaceFrame(FrameOf({{bytes.data(), bytes.size()}}, true), *pool);
  EXPECT_FALSE(placed.notice.lent());
  EXPECT_EQ(placed.notice.inline_bytes, 2 * kMiB + 64);
}

TEST_F(ShmPoolTest, WhatIsPlacedIsWhatTheParserTakes) {
  auto pool = Pool(64 * kMiB);
  std::mt19937 rng(8);
  auto big = pool->Take(4 * kMiB);
  const std::vector<std::byte> small(20000);
  for (int round = 0; round < 300; ++round) {
    std::vector<FrameSlice> slices;
    for (size_t i = 0; i < 1 + rng() % 6; ++i) {
      const size_t size = 1 + rng() % 60000;
      if (rng() % 2 == 0) {
        slices.push_back({big.get() + 64 * (rng() % 10000), size});
      } else {
        slices.push_back({small.data(), std::min<size_t>(size, small.size())});
      }
    }
    const PlacedFrame placed = PlaceFrame(FrameOf(slices, rng() % 4 != 0), *pool);
    size_t parts = 0;
    for (const FrameSlice& part : placed.parts) parts += part.size;
    EXPECT_EQ(parts, placed.notice.inline_bytes);
    const std::string message = FrameMessage(placed.notice);
    const auto parsed = ParseFrame(
        std::as_bytes(std::span(message)).subspan(sizeof(ShmMessageHead)), size_t{1} << 30);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
  }
}

}  // namespace
}  // namespace headrace
