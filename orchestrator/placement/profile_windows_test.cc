#include "orchestrator/placement/profile_windows.h"

#include <cmath>

#include "gtest/gtest.h"
#include "orchestrator/seeded_random.h"

namespace headrace::orchestrate {
namespace {

// decode, filter (two of three pass), shuffle, batch (of ten).
PipelineFacts Facts() {
  PipelineFacts facts;
  facts.source_cut = 0;
  facts.source_key = 1;
  facts.steps = {{.step = "1:decode", .cut = 1, .key = 2},
                 {.step = "2:filter", .one_to_one = false, .cut = 2, .key = 3},
                 {.step = "3:shuffle", .random = true, .no_cut = "random"},
                 {.step = "4:batch", .one_to_one = false, .no_cut = "behind a shuffle"}};
  return facts;
}

JobObservation Window(double rows, double held = 0) {
  JobObservation job;
  const double kept = rows * 2 / 3;
  job.steps = {
      {.step = "0:read", .cpu_seconds = rows * 1e-4, .rows_out = rows, .bytes_out = rows * 100},
      {.step = "1:decode",
       .cpu_seconds = rows * 1e-2,
       .rows_in = rows,
       .rows_out = rows,
       .bytes_out = rows * 900},
      {.step = "2:filter",
       .cpu_seconds = rows * 1e-5,
       .rows_in = rows,
       .rows_out = kept,
       .bytes_out = kept * 900},
      {.step = "3:shuffle",
       .cpu_seconds = kept * 1e-6,
       .rows_in = kept,
       .rows_out = kept - held,
       .bytes_out = (kept - held) * 900},
      {.step = "4:batch",
       .cpu_seconds = (kept - held) * 1e-6,
       .rows_in = kept - held,
       .rows_out = (kept - held) / 10,
       .bytes_out = (kept - held) * 900}};
  return job;
}

TEST(ProfileWindowsTest, RowsAreThoseOfTheSource) {
  ProfileSums sums;
  AddWindow(Window(600, /*held=*/300), 10, sums);
  const JobProfile profile = ProfileOf(sums, Facts());
  EXPECT_EQ(sums.seconds, 10);
  EXPECT_DOUBLE_EQ(profile.source_bytes, 100);
  EXPECT_DOUBLE_EQ(profile.source_cpu_seconds, 1e-4);
  ASSERT_EQ(profile.steps.size(), 4u);
  EXPECT_DOUBLE_EQ(profile.steps[0].cpu_seconds, 1e-2);
  EXPECT_DOUBLE_EQ(profile.steps[0].bytes_out, 900);
  EXPECT_DOUBLE_EQ(profile.steps[1].bytes_out, 600);
  EXPECT_NEAR(profile.steps[2].visits, 2.0 / 3, 1e-12);
  EXPECT_NEAR(profile.steps[3].visits, 2.0 / 3, 1e-12) << "what a shuffle holds will leave it";
  EXPECT_NEAR(profile.steps[3].bytes_out, 600, 1e-9);
  EXPECT_EQ(profile.prefix_keys.size(), 5u);
  EXPECT_EQ(LegalCuts(profile), (std::vector<size_t>{0, 1, 2}));
}

TEST(ProfileWindowsTest, WhatACacheLeavesOutStaysKnown) {
  ProfileSums sums;
  AddWindow(Window(600), 10, sums);
  const JobProfile before = ProfileOf(sums, Facts());
  JobObservation cached = Window(600);
  cached.steps.erase(cached.steps.begin(), cached.steps.begin() + 3);
  cached.steps.push_back({.step = "0:cached", .cpu_seconds = 1, .rows_out = 400});
  for (int i = 0; i < 300; ++i) AddWindow(cached, 10, sums);
  const JobProfile after = ProfileOf(sums, Facts());
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(after.steps[i].cpu_seconds, before.steps[i].cpu_seconds, 1e-12) << i;
    EXPECT_NEAR(after.steps[i].visits, before.steps[i].visits, 1e-12) << i;
    EXPECT_NEAR(after.steps[i].bytes_out, before.steps[i].bytes_out, 1e-9) << i;
  }
}

TEST(ProfileWindowsTest, VarianceIsThatOfSingleRowsAndOldWindowsFade) {
  SeededRandom random(2);
  ProfileSums sums;
  const auto window = [&](double mean) {
    StepObservation step{.step = "1:decode"};
    for (int block = 0; block < 50; ++block) {
      const double rows = 1 + static_cast<double>(random.Below(40));
      double cpu = 0;
      for (int i = 0; i < static_cast<int>(rows); ++i) cpu += mean * (1 + 0.3 * random.Normal());
      step.rows_in += rows;
      step.rows_out += rows;
      step.cpu_seconds += cpu;
      step.cpu_square += cpu * cpu / rows;
      step.blocks += 1;
    }
    JobObservation job;
    job.steps = {step};
    AddWindow(job, 10, sums);
  };
  for (int i = 0; i < 100; ++i) window(0.010);
  StepProfile decode = ProfileOf(sums, Facts()).steps[0];
  EXPECT_NEAR(decode.cpu_seconds, 0.010, 0.0002);
  EXPECT_NEAR(std::sqrt(decode.cpu_variance), 0.003, 0.0003);
  for (int i = 0; i < 300; ++i) window(0.020);
  decode = ProfileOf(sums, Facts()).steps[0];
  EXPECT_NEAR(decode.cpu_seconds, 0.020, 0.0004);
}

TEST(ProfileWindowsTest, StepsThatWereNotSeenAtWorkAreNamed) {
  ProfileSums sums;
  EXPECT_EQ(Unmeasured(sums, Facts()), "reading");
  EXPECT_EQ(sums.seconds, 0);
  JobObservation begun = Window(600);
  begun.steps.resize(3);
  AddWindow(begun, 10, sums);
  EXPECT_EQ(Unmeasured(sums, Facts()), "3:shuffle, 4:batch");
  AddWindow(Window(600), 10, sums);
  EXPECT_EQ(Unmeasured(sums, Facts()), "");
  AddWindow(JobObservation(), 50, sums);
  EXPECT_EQ(sums.seconds, 20) << "time in which nothing was made is no evidence";
}

}  // namespace
}  // namespace headrace::orchestrate
