#include "dispatcher/ledger/run_set.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <utility>
#include <vector>

namespace headrace::dispatch {
namespace {

std::vector<std::pair<uint64_t, uint64_t>> Runs(const RunSet& set) {
  std::vector<std::pair<uint64_t, uint64_t>> runs;
  set.ForEachRun([&](uint64_t first, uint64_t count) { runs.emplace_back(first, count); });
  return runs;
}

TEST(RunSetTest, AddSaysHowManyWereNew) {
  RunSet set;
  EXPECT_EQ(set.Add(10, 5), 5u);
  EXPECT_EQ(set.Add(12, 5), 2u);
  EXPECT_EQ(set.Add(10, 1), 0u);
  EXPECT_EQ(set.Add(3, 0), 0u);
  EXPECT_EQ(set.size(), 7u);
}

TEST(RunSetTest, RunsComeOutAsLongAsTheyAre) {
  RunSet set;
  set.Add(0, 3);
  set.Add(7, 1);
  set.Add(3, 2);
  EXPECT_EQ(Runs(set), (std::vector<std::pair<uint64_t, uint64_t>>{{0, 5}, {7, 1}}));
}

TEST(RunSetTest, ARunBeyondTheLimitIsCut) {
  RunSet set;
  EXPECT_EQ(set.Add(RunSet::kMaxRecords - 2, 100), 2u);
  EXPECT_EQ(set.Add(RunSet::kMaxRecords, 1), 0u);
  EXPECT_EQ(set.Add(5, ~uint64_t{0}), RunSet::kMaxRecords - 5 - 2);
}

TEST(RunSetTest, ItAgreesWithAnOrdinarySet) {
  std::mt19937 random(7);
  RunSet set;
  std::set<uint64_t> plain;
  for (int i = 0; i < 2000; ++i) {
    const uint64_t first = random() % 5000;
    const uint64_t count = random() % 4 == 0 ? random() % 200 : 1;
    uint64_t added = 0;
    for (uint64_t j = first; j < first + count; ++j) added += plain.insert(j).second ? 1 : 0;
    ASSERT_EQ(set.Add(first, count), added);
    ASSERT_EQ(set.size(), plain.size());
  }
  for (uint64_t i = 0; i < 5300; ++i) ASSERT_EQ(set.Contains(i), plain.contains(i));
  EXPECT_TRUE(set.ContainsAll(*plain.begin(), 1));
  EXPECT_FALSE(set.ContainsAll(0, 6000));
}

}  // namespace
}  // namespace headrace::dispatch
