#include "pipeline/engine/step_tally.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace headrace {
namespace {

TEST(StepTallyTest, TheVarianceOfRowsIsFoundFromBlocksOfAnySize) {
  StepTally tally;
  std::mt19937_64 random(7);
  std::normal_distribution<double> row(1e-3, 2e-4);  // seconds
  for (int block = 0; block < 20'000; ++block) {
    const size_t rows = 1 + random() % 50;
    double seconds = 0;
    for (size_t i = 0; i < rows; ++i) seconds += row(random);
    tally.In(rows, 0);
    tally.Cpu(static_cast<uint64_t>(seconds * 1e9), rows);
  }
  v1::StepStats stats;
  tally.Fill("1:step", stats);
  ASSERT_EQ(stats.blocks(), 20'000u);
  const double rows = static_cast<double>(stats.rows_in());
  EXPECT_NEAR(stats.cpu_seconds() / rows, 1e-3, 1e-5);
  const double variance = (stats.cpu_square() - stats.cpu_seconds() * stats.cpu_seconds() / rows) /
                          static_cast<double>(stats.blocks() - 1);
  EXPECT_NEAR(std::sqrt(variance), 2e-4, 1e-5);
}

TEST(StepTallyTest, WorkOnNoRowsIsTimeWithoutABlock) {
  StepTally tally;
  tally.Cpu(1'000'000, 0);
  tally.Wall(2'000'000);
  v1::StepStats stats;
  tally.Fill("0:read", stats);
  EXPECT_EQ(stats.blocks(), 0u);
  EXPECT_EQ(stats.cpu_square(), 0);
  EXPECT_DOUBLE_EQ(stats.cpu_seconds(), 1e-3);
  EXPECT_DOUBLE_EQ(stats.wall_seconds(), 2e-3);
}

}  // namespace
}  // namespace headrace
