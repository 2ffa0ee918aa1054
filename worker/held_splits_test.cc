#include "worker/held_splits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cache/memory_tier.h"
#include "common/fake_clock.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string Hash(char digit) { return std::string(32, digit); }

class HeldSplitsTest : public testing::Test {
 protected:
  HeldSplitsTest() {
    std::vector<std::unique_ptr<CacheTier>> tiers;
    tiers.push_back(std::make_unique<MemoryTier>(1 << 20, prefixes_));
    cache_ = std::make_unique<TieredCache>(std::move(tiers), prefixes_);
    held_ = std::make_unique<HeldSplits>(*cache_);
  }
  void Keep(const CacheKey& key) {
    const auto fill = cache_->Begin(key);
    ASSERT_NE(fill, nullptr);
    ASSERT_TRUE(fill->Append({.first = 0, .count = 1, .bytes = 0, .pieces = {}}).ok());
    fill->Commit();
  }
  std::vector<uint32_t> Tell(const std::string& group, std::string_view tier = "auto") {
    return held_->Tell(group, Hash('a'), tier);
  }

  FakeClock clock_;
  std::shared_ptr<PrefixUse> prefixes_ = std::make_shared<PrefixUse>(clock_);
  std::unique_ptr<TieredCache> cache_;
  std::unique_ptr<HeldSplits> held_;
  const CacheKey one_{Hash('a'), Hash('1'), Hash('f')};
  const CacheKey two_{Hash('a'), Hash('2'), Hash('f')};
  const CacheKey three_{Hash('a'), Hash('3'), Hash('f')};
};

TEST_F(HeldSplitsTest, WhatIsKeptIsToldInOrderByDistances) {
  for (const auto& [split, key] : {std::pair{9u, three_}, {2u, one_}, {4u, two_}}) {
    Keep(key);
    held_->Note("g", split, key);
  }
  EXPECT_THAT(Tell("g"), ElementsAre(2, 2, 5));
  EXPECT_THAT(Tell("other"), IsEmpty());
  EXPECT_THAT(Tell("g", "disk"), IsEmpty()) << "the job may not use what is in memory";
}

TEST_F(HeldSplitsTest, WhatIsNotThereOrOfAnotherVersionIsNotTold) {
  held_->Note("g", 0, one_);  // a fill that came to nothing
  Keep(two_);
  held_->Note("g", 1, two_);
  CacheKey newer = three_;
  newer.version = Hash('e');
  Keep(newer);
  held_->Note("g", 2, three_);
  EXPECT_THAT(Tell("g"), ElementsAre(1));
}

TEST_F(HeldSplitsTest, GroupsThatNobodyNotesOfAreForgotten) {
  Keep(one_);
  held_->Note("old", 1, one_);
  held_->Note("used", 1, one_);
  for (size_t i = 0; i < HeldSplits::kGroups - 1; ++i) {
    held_->Note(std::to_string(i), 1, one_);
    EXPECT_THAT(Tell("used"), ElementsAre(1));
  }
  EXPECT_THAT(Tell("old"), IsEmpty());
}

}  // namespace
}  // namespace headrace
