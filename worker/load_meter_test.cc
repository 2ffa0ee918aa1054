#include "worker/load_meter.h"

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

}  // namespace
}  // namespace headrace
