#include "orchestrator/observation/limits.h"

#include "gtest/gtest.h"

namespace headrace::orchestrate {
namespace {

Observation Busy(double busy) {
  Observation seen;
  seen.workers = {{.worker = 1, .busy = busy}};
  return seen;
}

TEST(LimitTest, AWordForEach) {
  JobObservation job{.clients = 1, .stall = 0.5, .fetch_stall = 0.1, .prepare_stall = 0.4};
  EXPECT_EQ(LimitOf(job, Busy(0.95)), Limit::kWorkers);
  EXPECT_EQ(LimitOf(job, Busy(0.2)), Limit::kSource);
  EXPECT_EQ(LimitOf(job, {}), Limit::kUnknown);
  job.fetch_stall = 0.45;
  job.prepare_stall = 0.05;
  EXPECT_EQ(LimitOf(job, Busy(0.2)), Limit::kNetwork);
  job.stall = 0.01;
  EXPECT_EQ(LimitOf(job, Busy(0.95)), Limit::kTrainer);
  job.stall.reset();
  EXPECT_EQ(LimitOf(job, Busy(0.95)), Limit::kUnknown);
  job.clients = 0;
  EXPECT_EQ(LimitOf(job, Busy(0.95)), Limit::kNothing);
  job.waits_for_workers = true;
  EXPECT_EQ(Word(LimitOf(job, Busy(0.95))), "no worker");
}

}  // namespace
}  // namespace headrace::orchestrate
