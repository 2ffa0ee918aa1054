#include "orchestrator/sharing/known_future.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "gtest/gtest.h"
#include "orchestrator/seeded_random.h"

namespace headrace::orchestrate {
namespace {

TEST(SecondsUntilNeededTest, IsTheSoonestReaders) {
  const std::vector<ItemReader> readers = {
      {.items_per_second = 10, .read = true, .left_in_epoch = 50, .next_epoch_ahead = 30},
      {.items_per_second = 2, .read = false, .ahead = 20},
  };
  EXPECT_DOUBLE_EQ(SecondsUntilNeeded(readers), 8);
  EXPECT_DOUBLE_EQ(SecondsUntilNeeded(std::span(readers).subspan(1)), 10);
  EXPECT_TRUE(std::isinf(SecondsUntilNeeded({})));
  const std::vector<ItemReader> done = {
      {.items_per_second = 10, .read = true, .left_in_epoch = 5, .last_epoch = true}};
  EXPECT_TRUE(std::isinf(SecondsUntilNeeded(done)));
}

TEST(ChooseVictimTest, WhatIsNeededLastGoesAndTheIncomingMayBeIt) {
  const std::vector<double> cached = {5, 90, 20};
  EXPECT_EQ(ChooseVictim(cached, 50, false).victim, 1u);
  EXPECT_FALSE(ChooseVictim(cached, 100, false).admit);
  EXPECT_FALSE(ChooseVictim(cached, 80, false, 0.2).admit);
  EXPECT_TRUE(ChooseVictim(cached, 100, true).admit);
  EXPECT_FALSE(ChooseVictim(cached, 100, true).victim.has_value());
  EXPECT_FALSE(ChooseVictim({}, 1, false).admit);
}

TEST(BenefitPerByteTest, ATrainerThatDoesNotWaitGainsNothing) {
  EXPECT_EQ(BenefitPerByte({.stall = 0, .full_bytes_per_second = 10, .dataset_bytes = 100}), 0);
  EXPECT_GT(BenefitPerByte({.stall = 0.5, .full_bytes_per_second = 10, .dataset_bytes = 100}),
            BenefitPerByte({.stall = 0.5, .full_bytes_per_second = 10, .dataset_bytes = 200}));
}

// Over shuffled epochs that are known ahead: more hits than a cache that keeps what it has, which
// has x.
TEST(KnownFutureTest, ReachesTheBoundOfOneReaderOverShuffledEpochs) {
  constexpr size_t kItems = 600;
  for (double share : {0.1, 0.25, 0.5}) {
    SeededRandom random(17);
    std::vector<size_t> order(kItems), next(kItems), place(kItems);
    std::iota(order.begin(), order.end(), size_t{0});
    next = order;
    random.Shuffle(order);
    std::vector<size_t> cached;
    double hits = 0;
    for (int epoch = 0; epoch < 6; ++epoch) {
      random.Shuffle(next);
      for (size_t i = 0; i < kItems; ++i) place[next[i]] = i;
      std::vector<size_t> at(kItems);
      for (size_t i = 0; i < kItems; ++i) at[order[i]] = i;
      for (size_t i = 0; i < kItems; ++i) {
        const auto needed = [&](size_t item) {
          const bool read = at[item] <= i;
          return SecondsUntilNeeded(std::vector<ItemReader>{
              {.items_per_second = 1,
               .read = read,
               .ahead = static_cast<double>(at[item]) - static_cast<double>(i),
               .left_in_epoch = static_cast<double>(kItems - i),
               .next_epoch_ahead = static_cast<double>(place[item])}});
        };
        if (std::find(cached.begin(), cached.end(), order[i]) != cached.end()) {
          hits += epoch > 0;
          continue;
        }
        std::vector<double> seconds;
        for (size_t item : cached) seconds.push_back(needed(item));
        const bool room = static_cast<double>(cached.size()) < share * kItems;
        const EvictionChoice choice = ChooseVictim(seconds, needed(order[i]), room);
        if (!choice.admit) continue;
        if (choice.victim.has_value())
          cached.erase(cached.begin() + static_cast<ptrdiff_t>(*choice.victim));
        cached.push_back(order[i]);
      }
      order = next;
    }
    const double ratio = hits / (5 * kItems);
    EXPECT_NEAR(ratio, share, 0.01);
  }
}

}  // namespace
}  // namespace headrace::orchestrate
