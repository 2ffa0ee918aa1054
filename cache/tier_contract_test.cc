// What every tier owes.
#include <functional>
#include <map>

#include "cache/test_splits.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::cache_test {
namespace {

class TierContractTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { tier_ = Make(uint64_t{1} << 20); }

  std::unique_ptr<CacheTier> Make(uint64_t bytes) {
    if (GetParam() == "memory") return std::make_unique<MemoryTier>(bytes, prefixes_);
    DiskTier::Options options;
    options.path = directory_.path();
    options.bytes = bytes;
    options.chunk_bytes = 8192;
    options.direct = GetParam() == "disk";
    auto tier = DiskTier::Open(options, prefixes_, clock_);
    EXPECT_TRUE(tier.ok()) << tier.status();
    disk_ = tier->get();
    return *std::move(tier);
  }
  void Settle() {
    if (disk_ == nullptr) return;
    EXPECT_TRUE(disk_->Flush(absl::Now() + absl::Seconds(20)));
  }

  TemporaryDirectory directory_;
  FakeClock clock_;
  std::shared_ptr<PrefixUse> prefixes_ = std::make_shared<PrefixUse>(clock_);
  DiskTier* disk_ = nullptr;
  std::unique_ptr<CacheTier> tier_;
};

TEST_P(TierContractTest, WhatWasCommittedComesBackByteForByte) {
  const SplitShape shapes[] = {{.frames = 1, .frame_bytes = 1},
                               {.frames = 17, .frame_bytes = 999},
                               {.frames = 3, .frame_bytes = 100'000},
                               {.frames = 6, .frame_bytes = 8192}};
  for (uint64_t i = 0; i < 4; ++i) ASSERT_TRUE(Fill(*tier_, KeyOf(i), shapes[i]));
  Settle();
  for (uint64_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(ReadsBack(*tier_, KeyOf(i), shapes[i])) << i;
    EXPECT_TRUE(tier_->Holds(KeyOf(i)));
  }
  EXPECT_EQ(tier_->use().entries, 4u);
  EXPECT_EQ(tier_->counters().fills, 4u);
  EXPECT_EQ(tier_->counters().hits, 4u);
}

TEST_P(TierContractTest, ASplitWithoutRowsIsKeptToo) {
  const SplitShape empty{.frames = 2, .frame_bytes = 0};
  ASSERT_TRUE(Fill(*tier_, KeyOf(1), empty));
  Settle();
  const auto split = tier_->Find(KeyOf(1));
  ASSERT_NE(split, nullptr);
  uint64_t records = 0;
  while (auto frame = split->Next().value()) {
    EXPECT_EQ(frame->frame.size, 0u);
    records += frame->count;
  }
  EXPECT_EQ(records, 20u);
}

TEST_P(TierContractTest, WhatWasNotCommittedIsNotThere) {
  {
    auto fill = tier_->Begin(KeyOf(1), nullptr);
    ASSERT_TRUE(fill.ok());
    EXPECT_TRUE(AppendAll(**fill, KeyOf(1), {}));
  }
  Settle();
  EXPECT_EQ(tier_->Find(KeyOf(1)), nullptr);
  EXPECT_EQ(tier_->use().bytes, 0u);
  EXPECT_EQ(tier_->counters().fill_dropped(FillDrop::kIncomplete), 1u);
}

TEST_P(TierContractTest, AnotherVersionIsNeverServedAndTheOldOneGoes) {
  ASSERT_TRUE(Fill(*tier_, KeyOf(1, 1)));
  Settle();
  EXPECT_EQ(tier_->Find(KeyOf(1, 2)), nullptr);
  EXPECT_EQ(tier_->counters().dropped(CacheDrop::kStale), 1u);
  EXPECT_EQ(tier_->Find(KeyOf(1, 1)), nullptr);
  EXPECT_EQ(tier_->use().bytes, 0u);
}

TEST_P(TierContractTest, ANewVersionTakesTheOldOnesPlace) {
  ASSERT_TRUE(Fill(*tier_, KeyOf(1, 1)));
  ASSERT_TRUE(Fill(*tier_, KeyOf(1, 2)));
  Settle();
  EXPECT_TRUE(ReadsBack(*tier_, KeyOf(1, 2)));
  EXPECT_EQ(tier_->use().entries, 1u);
}

TEST_P(TierContractTest, TheBudgetIsHeldAndEntriesOfUnusedPrefixesMakeRoom) {
  const SplitShape shape{.frames = 3, .frame_bytes = 50'000};
  for (uint64_t i = 0; i < 40; ++i) {
    EXPECT_TRUE(Fill(*tier_, KeyOf(i), shape)) << i;
    Settle();
    EXPECT_LE(tier_->use().bytes, tier_->use().limit);
    EXPECT_TRUE(ReadsBack(*tier_, KeyOf(i), shape)) << i;
  }
  EXPECT_GT(tier_->counters().dropped(CacheDrop::kEvicted), 20u);
  EXPECT_EQ(tier_->Find(KeyOf(0)), nullptr) << "the one used longest ago goes first";
}

TEST_P(TierContractTest, APrefixAtWorkIsNotEvictedForItself) {
  const auto use = prefixes_->Acquire(Hex(7));
  const SplitShape shape{.frames = 3, .frame_bytes = 50'000};
  uint64_t kept = 0;
  for (uint64_t i = 0; i < 20; ++i) {
    (void)Fill(*tier_, KeyOf(i), shape);
    Settle();
    kept += tier_->Holds(KeyOf(i)) ? 1 : 0;
    EXPECT_LE(tier_->use().bytes, tier_->use().limit);
  }
  EXPECT_GT(kept, 4u);
  EXPECT_LT(kept, 11u);
  for (uint64_t i = 0; i < kept; ++i) EXPECT_TRUE(ReadsBack(*tier_, KeyOf(i), shape)) << i;
  EXPECT_EQ(tier_->counters().dropped(CacheDrop::kEvicted), 0u);
}

TEST_P(TierContractTest, APrefixIsSparedForAWhileAfterItsLastUser) {
  const SplitShape shape{.frames = 3, .frame_bytes = 250'000};
  auto use = prefixes_->Acquire(Hex(7));
  ASSERT_TRUE(Fill(*tier_, KeyOf(1), shape));
  Settle();
  use.reset();
  (void)Fill(*tier_, KeyOf(2, 1, 8), shape);
  Settle();
  EXPECT_TRUE(tier_->Holds(KeyOf(1)));
  clock_.Advance(PrefixUse::kLinger + absl::Seconds(1));
  EXPECT_TRUE(Fill(*tier_, KeyOf(2, 1, 8), shape));
  Settle();
  EXPECT_FALSE(tier_->Holds(KeyOf(1)));
  EXPECT_TRUE(ReadsBack(*tier_, KeyOf(2, 1, 8), shape));
}

TEST_P(TierContractTest, ASplitThatIsReadWhileItIsEvictedStaysWholeAndCounts) {
  const SplitShape shape{.frames = 3, .frame_bytes = 200'000};
  ASSERT_TRUE(Fill(*tier_, KeyOf(1), shape));
  Settle();
  std::unique_ptr<CachedSplit> split = tier_->Find(KeyOf(1));
  ASSERT_NE(split, nullptr);
  (void)Fill(*tier_, KeyOf(2), shape);  // evicts it; there is no room yet
  Settle();
  EXPECT_EQ(tier_->Find(KeyOf(1)), nullptr);
  EXPECT_GE(tier_->use().bytes, 600'000u) << "claims fall when the bytes are free, not before";
  EXPECT_TRUE(ReadAll(*split, KeyOf(1), shape).ok());
  split.reset();
  EXPECT_TRUE(Fill(*tier_, KeyOf(2), shape));
  Settle();
  EXPECT_TRUE(ReadsBack(*tier_, KeyOf(2), shape));
}

TEST_P(TierContractTest, ASplitLargerThanTheBudgetIsRefusedAndLeavesNothing) {
  EXPECT_FALSE(Fill(*tier_, KeyOf(1), {.frames = 1, .frame_bytes = 2 << 20}) &&
               (Settle(), tier_->Holds(KeyOf(1))));
  Settle();
  EXPECT_EQ(tier_->use().bytes, 0u);
  EXPECT_EQ(tier_->counters().fill_dropped(FillDrop::kNoRoom), 1u);
  EXPECT_TRUE(Fill(*tier_, KeyOf(2)));
}

TEST_P(TierContractTest, ACondemnedEntryIsGoneAndCounted) {
  ASSERT_TRUE(Fill(*tier_, KeyOf(1)));
  Settle();
  std::unique_ptr<CachedSplit> split = tier_->Find(KeyOf(1));
  split->Condemn(CacheDrop::kDamaged);
  split->Condemn(CacheDrop::kDamaged);
  EXPECT_EQ(tier_->Find(KeyOf(1)), nullptr);
  EXPECT_EQ(tier_->counters().dropped(CacheDrop::kDamaged), 1u);
  split.reset();
  EXPECT_EQ(tier_->use().bytes, 0u);
}

TEST_P(TierContractTest, TheLeaseIsLetGoOnceTheEntryCanBeFoundOrNeverWill) {
  auto lease = std::make_shared<int>(1);
  {
    auto fill = tier_->Begin(KeyOf(1), lease);
    ASSERT_TRUE(fill.ok() && AppendAll(**fill, KeyOf(1), {}));
    EXPECT_GT(lease.use_count(), 1);
    (*fill)->Commit();
    Settle();
  }
  EXPECT_EQ(lease.use_count(), 1);
  {
    auto fill = tier_->Begin(KeyOf(2), lease);
  }
  Settle();
  EXPECT_EQ(lease.use_count(), 1);
}

INSTANTIATE_TEST_SUITE_P(Tiers, TierContractTest, testing::Values("memory", "disk", "buffered"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace headrace::cache_test
