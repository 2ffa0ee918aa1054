#include "orchestrator/observation/level.h"

#include <cmath>
#include <limits>
#include <random>

#include "gtest/gtest.h"

namespace headrace::orchestrate {
namespace {

TEST(LevelTest, NothingIsNotZero) {
  Level level;
  EXPECT_FALSE(level.known());
  for (double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_FALSE(level.Add(bad));
    EXPECT_FALSE(level.known()) << bad;
  }
}

TEST(LevelTest, OneOddWindowMovesItLittle) {
  Level level;
  for (int i = 0; i < 9; ++i) level.Add(100 + i % 3);
  EXPECT_FALSE(level.Add(1000));
  EXPECT_NEAR(level.value(), 101, 1);
}

TEST(LevelTest, AStepIsSeenAfterTwoWindows) {
  for (double factor : {0.3, 0.5, 2.0, 4.0}) {
    Level level;
    for (int i = 0; i < 20; ++i) level.Add(100);
    level.Add(100 * factor);
    EXPECT_NEAR(level.value(), 100, 1);
    EXPECT_TRUE(level.Add(100 * factor));
    EXPECT_NEAR(level.value(), 100 * factor, 1e-6 * factor * 100);
  }
}

TEST(LevelTest, ASmallStepIsSeenAfterFour) {
  Level level;
  for (int i = 0; i < 20; ++i) level.Add(i % 2 == 0 ? 98 : 102);
  for (int i = 0; i < 4; ++i) level.Add(106);
  EXPECT_NEAR(level.value(), 106, 1e-6);
}

TEST(LevelTest, NoiseIsAveragedAndMeasured) {
  for (double sigma : {0.05, 0.10}) {
    std::mt19937_64 rng(7);
    std::normal_distribution<double> normal(0, sigma);
    double squares = 0;
    double scatters = 0;
    constexpr int kRuns = 200;
    for (int run = 0; run < kRuns; ++run) {
      Level level;
      for (int i = 0; i < 24; ++i) level.Add(100 * std::exp(normal(rng)));
      const double off = std::log(level.value() / 100);
      squares += off * off;
      scatters += level.scatter();
    }
    EXPECT_LT(std::sqrt(squares / kRuns), 0.55 * sigma);  // of one window it would be sigma
    EXPECT_NEAR(scatters / kRuns, sigma, 0.35 * sigma);
  }
}

TEST(LevelTest, ErrorShrinksWithWindows) {
  Level few;
  Level many;
  for (int i = 0; i < 2; ++i) few.Add(100);
  for (int i = 0; i < 20; ++i) many.Add(i % 2 == 0 ? 90 : 110);
  EXPECT_LT(many.error(), 0.05);
  EXPECT_GT(few.error(), many.error());
}

}  // namespace
}  // namespace headrace::orchestrate
