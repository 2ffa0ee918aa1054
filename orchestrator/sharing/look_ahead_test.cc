#include "orchestrator/sharing/look_ahead.h"

#include <set>

#include "gtest/gtest.h"
#include "orchestrator/seeded_random.h"

namespace headrace::orchestrate {
namespace {

using R = Residence;

TEST(LookAheadTest, IsTheInverseOfTheHitRatioUpToTen) {
  EXPECT_EQ(LookAhead(0), 10u);
  EXPECT_EQ(LookAhead(0.05), 10u);
  EXPECT_EQ(LookAhead(0.1), 10u);
  EXPECT_EQ(LookAhead(0.3), 4u);
  EXPECT_EQ(LookAhead(0.5), 2u);
  EXPECT_EQ(LookAhead(1), 1u);
}

TEST(ChooseLeasesTest, HereThenElsewhereThenCold) {
  const std::vector<R> next = {R::kCold, R::kElsewhere, R::kHere, R::kCold, R::kHere, R::kHere};
  EXPECT_EQ(ChooseLeases({next, 2, 2}), (std::vector<size_t>{1, 2}));  // looks at four
  EXPECT_EQ(ChooseLeases({next, 2, 3}), (std::vector<size_t>{2, 4}));
  EXPECT_EQ(ChooseLeases({next, 2, 1}), (std::vector<size_t>{0, 1}));
  EXPECT_EQ(ChooseLeases({next, 9, 10}).size(), 6u);
  EXPECT_TRUE(ChooseLeases({{}, 3, 10}).empty());
}

// Property: a whole epoch, whatever is cached, comes once; nothing is looked at beyond the bound.
TEST(ChooseLeasesTest, AnEpochComesOnceAndWithinTheBound) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SeededRandom random(seed);
    std::vector<R> left_residence;
    std::vector<size_t> left(1 + random.Below(300));
    for (size_t i = 0; i < left.size(); ++i) {
      left[i] = i;
      left_residence.push_back(static_cast<R>(random.Below(3)));
    }
    const size_t all = left.size(), need = 1 + random.Below(9), ahead = LookAhead(random.Uniform());
    std::set<size_t> leased;
    while (!left.empty()) {
      const auto chosen = ChooseLeases({left_residence, need, ahead});
      ASSERT_EQ(chosen.size(), std::min(need, left.size()));
      for (size_t i = chosen.size(); i-- > 0;) {
        ASSERT_LT(chosen[i], need * ahead);
        ASSERT_TRUE(leased.insert(left[chosen[i]]).second);
        left.erase(left.begin() + static_cast<ptrdiff_t>(chosen[i]));
        left_residence.erase(left_residence.begin() + static_cast<ptrdiff_t>(chosen[i]));
      }
    }
    ASSERT_EQ(leased.size(), all);
  }
}

TEST(BatchMixingTest, IsOneForAShuffleAndTheBatchForAllOrNothing) {
  SeededRandom random(5);
  std::vector<uint8_t> shuffled, sorted;
  for (int i = 0; i < 64000; ++i) {
    shuffled.push_back(random.Chance(0.3) ? 1 : 0);
    sorted.push_back(i < 19200 ? 1 : 0);
  }
  EXPECT_NEAR(BatchMixing(shuffled, 64), 1, 0.1);
  EXPECT_NEAR(BatchMixing(sorted, 64), 64, 1);
  EXPECT_EQ(BatchMixing({}, 64), 1);
}

}  // namespace
}  // namespace headrace::orchestrate
