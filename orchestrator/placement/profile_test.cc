#include "orchestrator/placement/profile.h"

#include "gtest/gtest.h"

namespace headrace::orchestrate {
namespace {

StepProfile Step(std::string name, double cpu, double bytes) {
  StepProfile step;
  step.name = std::move(name);
  step.cpu_seconds = cpu;
  step.bytes_out = bytes;
  step.rows_measured = 1000;
  return step;
}

JobProfile Job() {
  JobProfile job;
  job.source_bytes = 100;
  job.steps = {Step("decode", 0.010, 900), Step("resize", 0.002, 200), Step("crop", 0.001, 150),
               Step("normalize", 0.001, 600)};
  job.prefix_keys = {1, 2, 3, 4, 5};
  return job;
}

TEST(LegalCutsTest, NoneBeyondTheFirstRandomStatefulOrPinnedStep) {
  JobProfile job = Job();
  EXPECT_EQ(LegalCuts(job), (std::vector<size_t>{0, 1, 2, 3, 4}));
  job.steps[2].random = true;
  EXPECT_EQ(LegalCuts(job), (std::vector<size_t>{0, 1, 2}));
  job.steps[1].stateful = true;
  EXPECT_EQ(LegalCuts(job), (std::vector<size_t>{0, 1}));
  job.steps[0].pinned = true;
  EXPECT_EQ(LegalCuts(job), (std::vector<size_t>{0}));
}

TEST(LegalCutsTest, ACutAfterARandomStepTakesAnOptIn) {
  JobProfile job = Job();
  job.steps[1].random = true;
  job.variants = 4;
  EXPECT_EQ(LegalCuts(job), (std::vector<size_t>{0, 1, 2}));
}

TEST(SplitRandomStepsTest, ADecoderThatCropsIsADecoderAndACrop) {
  JobProfile job = Job();
  job.steps.erase(job.steps.begin(), job.steps.begin() + 2);
  job.prefix_keys = {1, 7, 8};
  job.steps[0].random = true;
  job.steps[0].cpu_variance = 4e-6;
  job.steps[0].deterministic_share = 0.75;
  job.steps[0].bytes_between = 900;
  EXPECT_EQ(LegalCuts(job), (std::vector<size_t>{0}));
  const JobProfile split = SplitRandomSteps(job);
  ASSERT_EQ(split.steps.size(), 3u);
  EXPECT_EQ(LegalCuts(split), (std::vector<size_t>{0, 1}));
  EXPECT_EQ(BytesAtCut(split, 1), 900);
  EXPECT_DOUBLE_EQ(split.steps[0].cpu_seconds + split.steps[1].cpu_seconds, 0.001);
  EXPECT_DOUBLE_EQ(split.steps[0].cpu_seconds, 0.00075);
  ASSERT_EQ(split.prefix_keys.size(), 4u);
  EXPECT_EQ(split.prefix_keys[2], 7u);
  EXPECT_NE(split.prefix_keys[1], 7u);
  // Splitting twice is splitting once.
  EXPECT_EQ(SplitRandomSteps(split).steps.size(), 3u);
}

TEST(EvidenceTest, TakesRowsAndPrecisionOfWhatCosts) {
  JobProfile job = Job();
  for (StepProfile& step : job.steps) step.rows_measured = 299;
  EXPECT_FALSE(EnoughEvidence(job, 10).enough);
  for (StepProfile& step : job.steps) step.rows_measured = 300;
  EXPECT_TRUE(EnoughEvidence(job, 10).enough);
  job.steps[0].cpu_variance = 1e-4;  // a row's deviation is its mean: 5.8% after 300 rows
  EXPECT_FALSE(EnoughEvidence(job, 10).enough);
  EXPECT_NE(EnoughEvidence(job, 10).reason.find("decode"), std::string::npos);
  EXPECT_TRUE(EnoughEvidence(job, 60).enough);
  job.steps[0].cpu_variance = 0;
  job.steps[3].cpu_seconds = 1e-5;  // below 2% of the CPU time: may be noisy
  job.steps[3].cpu_variance = 1;
  EXPECT_TRUE(EnoughEvidence(job, 10).enough);
}

}  // namespace
}  // namespace headrace::orchestrate
