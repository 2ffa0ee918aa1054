#include "orchestrator/placement/profile_windows.h"

#include "gtest/gtest.h"
#include "orchestrator/seeded_random.h"

namespace headrace::orchestrate {
namespace {

JobProfile Known() {
  JobProfile known;
  known.job = "job";
  StepProfile decode, cut;
  decode.name = "decode";
  cut.name = "cut";
  known.steps = {decode, cut};
  return known;
}

TEST(ProfileWindowsTest, FindsMeanAndVarianceOfSingleRows) {
  SeededRandom random(2);
  ProfileSums sums;
  for (int window = 0; window < 400; ++window) {
    JobObservation job;
    const double rows = 50 + static_cast<double>(random.Below(100));
    double cpu = 0;
    for (int i = 0; i < static_cast<int>(rows); ++i) cpu += 0.010 * (1 + 0.5 * random.Normal());
    job.steps = {{"decode", cpu, rows, rows, rows * 100, rows * 900},
                 {"cut", rows * 3 * 0.001, rows * 3, rows * 3, rows * 900, rows * 600}};
    AddWindow(job, 10, sums);
  }
  const JobProfile profile = ProfileOf(sums, Known());
  EXPECT_EQ(sums.seconds, 4000);
  EXPECT_NEAR(profile.steps[0].cpu_seconds, 0.010, 0.0002);
  EXPECT_NEAR(profile.steps[0].cpu_variance, 0.005 * 0.005, 0.3 * 0.005 * 0.005);
  EXPECT_DOUBLE_EQ(profile.source_bytes, 100);
  EXPECT_DOUBLE_EQ(profile.steps[0].bytes_out, 900);
  EXPECT_DOUBLE_EQ(profile.steps[1].visits, 3);
  EXPECT_NEAR(profile.steps[1].cpu_variance, 0, 1e-12);
}

TEST(ProfileWindowsTest, WhatWasNotMeasuredKeepsWhatWasKnown) {
  JobProfile known = Known();
  known.steps[1].cpu_seconds = 7;
  JobObservation job;
  job.steps = {{"decode", 1, 100, 100, 1e4, 9e4}, {"cut", 0, 0, 0, 0, 0}};
  ProfileSums sums;
  EXPECT_EQ(ProfileOf(sums, known).steps[1].cpu_seconds, 7);
  AddWindow(job, 10, sums);
  const JobProfile profile = ProfileOf(sums, known);
  EXPECT_EQ(profile.steps[1].cpu_seconds, 7);
  EXPECT_DOUBLE_EQ(profile.steps[0].cpu_variance, 1e-4);  // one window: the mean, squared
}

TEST(PlacementDecisionTest, SaysStepTierAndBytes) {
  PlacementQuestion question;
  question.jobs = {Known()};
  question.jobs[0].rows = 10;
  question.jobs[0].steps[0].bytes_out = 5;
  question.cluster.tiers.resize(1);
  question.cluster.tiers[0].name = "disk";
  JobPlacement placement;
  placement.job = "job";
  placement.choice = CacheChoice{1, 0, 0.5};
  const Decision decision = AsDecision(question, placement);
  EXPECT_EQ(decision.action, (Action{Verb::kPlaceCache, "job/decode", "disk", 25}));
  placement.choice.reset();
  EXPECT_EQ(AsDecision(question, placement).action.verb, Verb::kHold);
}

}  // namespace
}  // namespace headrace::orchestrate
