#include "worker/load_meter.h"

#include "cache/memory_tier.h"
#include "common/fake_clock.h"
#include "gtest/gtest.h"

namespace headrace {
namespace {

TEST(LoadMeterTest, AJobsWorkIsThatOfAllItsTasksAlsoOfThoseThatAreGone) {
  LoadMeter meter(absl::Seconds(100));
  meter.Update({{1, 7, 2, 1, 5}, {2, 7, 1, 1, 6}, {3, 8, 5, 4, 0}});
  meter.Update({{1, 7, 3, 1.5, 5}, {2, 7, 1, 1, 6}, {3, 8, 5, 4, 0}});
  meter.Update({{2, 7, 1, 1, 6}, {3, 8, 5, 4, 0}, {4, 7, 0.5, 0.5, 1}});
  v1::WorkerLoad load;
  meter.Fill({absl::Seconds(110), 12'000'000'000, 4}, load);
  EXPECT_DOUBLE_EQ(load.up_seconds(), 10);
  EXPECT_DOUBLE_EQ(load.busy_seconds(), 12);
  EXPECT_EQ(load.threads(), 4u);
  EXPECT_GT(load.cpu_seconds(), 0);
  ASSERT_EQ(load.jobs_size(), 2);
  EXPECT_DOUBLE_EQ(load.jobs(0).busy_seconds(), 4.5);
  EXPECT_DOUBLE_EQ(load.jobs(0).cpu_seconds(), 3);
  EXPECT_EQ(load.jobs(0).output_bytes(), 7u);
  EXPECT_DOUBLE_EQ(load.jobs(1).busy_seconds(), 5);
}

TEST(LoadMeterTest, TiersTellWhatTheyHaveAndDid) {
  FakeClock clock;
  const auto prefixes = std::make_shared<PrefixUse>(clock);
  std::vector<std::unique_ptr<CacheTier>> tiers;
  tiers.push_back(std::make_unique<MemoryTier>(1 << 20, prefixes));
  TieredCache cache(std::move(tiers), prefixes);
  const CacheKey key{std::string(32, 'a'), std::string(32, 'b'), std::string(32, 'c')};
  EXPECT_EQ(cache.Find(key), nullptr);
  const auto fill = cache.Begin(key);
  ASSERT_TRUE(fill->Append({.first = 0, .count = 1, .bytes = 0, .pieces = {}}).ok());
  fill->Commit();
  EXPECT_NE(cache.Find(key), nullptr);
  v1::WorkerLoad load;
  FillTiers(cache, load);
  EXPECT_EQ(load.cache_misses(), 1u);
  ASSERT_EQ(load.tiers_size(), 1);
  EXPECT_EQ(load.tiers(0).tier(), "memory");
  EXPECT_EQ(load.tiers(0).limit_bytes(), uint64_t{1} << 20);
  EXPECT_EQ(load.tiers(0).splits(), 1u);
  EXPECT_EQ(load.tiers(0).fills(), 1u);
}

}  // namespace
}  // namespace headrace
