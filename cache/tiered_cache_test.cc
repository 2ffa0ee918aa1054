#include "cache/tiered_cache.h"

#include "cache/test_splits.h"
#include "gtest/gtest.h"

namespace headrace::cache_test {
namespace {

class TieredCacheTest : public testing::Test {
 protected:
  void SetUp() override { Make(uint64_t{100'000}, uint64_t{1} << 20); }

  void Make(uint64_t memory_bytes, uint64_t disk_bytes) {
    cache_.reset();
    std::vector<std::unique_ptr<CacheTier>> tiers;
    if (memory_bytes > 0) tiers.push_back(std::make_unique<MemoryTier>(memory_bytes, prefixes_));
    if (disk_bytes > 0) {
      DiskTier::Options options;
      options.path = directory_.path();
      options.bytes = disk_bytes;
      options.chunk_bytes = 8192;
      auto disk = DiskTier::Open(options, prefixes_, clock_);
      ASSERT_TRUE(disk.ok()) << disk.status();
      disk_ = disk->get();
      tiers.push_back(*std::move(disk));
    }
    cache_ = std::make_unique<TieredCache>(std::move(tiers), prefixes_);
  }
  bool FillAndSettle(uint64_t split, const SplitShape& shape = {},
                     const std::string& tier = "auto") {
    const auto fill = cache_->Begin(KeyOf(split), tier);
    if (fill == nullptr || !AppendAll(*fill, KeyOf(split), shape)) return false;
    fill->Commit();
    Settle();
    return true;
  }
  void Settle() { EXPECT_TRUE(disk_->Flush(absl::Now() + absl::Seconds(20))); }
  bool Reads(uint64_t split, const SplitShape& shape = {}) {
    const auto found = cache_->Find(KeyOf(split));
    return found != nullptr && ReadAll(*found, KeyOf(split), shape).ok();
  }
  CacheTier& memory() { return *cache_->tiers()[0]; }

  TemporaryDirectory directory_;
  FakeClock clock_;
  std::shared_ptr<PrefixUse> prefixes_ = std::make_shared<PrefixUse>(clock_);
  std::shared_ptr<void> use_ = prefixes_->Acquire(Hex(7));
  DiskTier* disk_ = nullptr;
  std::unique_ptr<TieredCache> cache_;
};

TEST_F(TieredCacheTest, ASplitThatOutgrowsMemoryMovesToDiskWhole) {
  const SplitShape shape{.frames = 9, .frame_bytes = 20'000};
  ASSERT_TRUE(FillAndSettle(1, shape));
  EXPECT_EQ(memory().use().bytes, 0u);
  EXPECT_EQ(disk_->use().entries, 1u);
  EXPECT_TRUE(Reads(1, shape));
}

TEST_F(TieredCacheTest, MemoryFirstThenDisk) {
  const SplitShape shape{.frames = 9, .frame_bytes = 5000};  // 7 of them have bytes
  for (uint64_t i = 0; i < 6; ++i) ASSERT_TRUE(FillAndSettle(i, shape)) << i;
  EXPECT_EQ(memory().use().entries, 2u);
  EXPECT_EQ(disk_->use().entries, 4u);
  for (uint64_t i = 0; i < 6; ++i) EXPECT_TRUE(Reads(i, shape)) << i;
  EXPECT_EQ(memory().counters().hits, 2u);
  EXPECT_EQ(disk_->counters().hits, 4u);
  EXPECT_EQ(cache_->misses(), 0u);
  EXPECT_FALSE(Reads(9));
  EXPECT_EQ(cache_->misses(), 1u);
}

TEST_F(TieredCacheTest, ATierThatIsNamedIsTheOnlyOne) {
  ASSERT_TRUE(FillAndSettle(1, {}, "disk"));
  ASSERT_TRUE(FillAndSettle(2, {}, "memory"));
  EXPECT_EQ(memory().use().entries, 1u);
  EXPECT_EQ(disk_->use().entries, 1u);
  EXPECT_EQ(cache_->Find(KeyOf(1), "memory"), nullptr);
  EXPECT_NE(cache_->Find(KeyOf(1), "disk"), nullptr);
  EXPECT_FALSE(FillAndSettle(3, {.frames = 9, .frame_bytes = 50'000}, "memory"));
  EXPECT_EQ(memory().counters().fill_dropped(FillDrop::kNoRoom), 1u);
}

TEST_F(TieredCacheTest, OneOfTwoJobsFillsASplitTheOtherJustReads) {
  auto first = cache_->Begin(KeyOf(1));
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(cache_->Begin(KeyOf(1)), nullptr);
  EXPECT_EQ(cache_->Begin(KeyOf(1, 2)), nullptr) << "one writer a slot, whatever the version";
  EXPECT_NE(cache_->Begin(KeyOf(2)), nullptr);
  ASSERT_TRUE(AppendAll(*first, KeyOf(1), {}));
  first->Commit();
  first.reset();
  Settle();
  EXPECT_EQ(cache_->Begin(KeyOf(1)), nullptr) << "it is there";
  EXPECT_TRUE(Reads(1));
}

TEST_F(TieredCacheTest, AFillThatWasGivenUpFreesItsSlot) {
  cache_->Begin(KeyOf(1), "disk").reset();
  Settle();
  cache_->Begin(KeyOf(1), "memory").reset();
  EXPECT_TRUE(FillAndSettle(1));
}

TEST_F(TieredCacheTest, WhereNoTierHasRoomTheFillEndsAndCountsOnce) {
  Make(20'000, 40'000);
  (void)FillAndSettle(1, {.frames = 9, .frame_bytes = 30'000});
  Settle();
  EXPECT_EQ(cache_->Find(KeyOf(1)), nullptr);
  EXPECT_EQ(memory().use().bytes, 0u);
  EXPECT_EQ(disk_->use().bytes, 0u);
  EXPECT_EQ(disk_->counters().fill_dropped(FillDrop::kNoRoom), 1u);
  EXPECT_TRUE(FillAndSettle(2));
}

}  // namespace
}  // namespace headrace::cache_test
