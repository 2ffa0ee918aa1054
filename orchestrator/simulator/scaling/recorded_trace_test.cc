#include "orchestrator/simulator/scaling/recorded_trace.h"

#include <filesystem>
#include <fstream>
#include <random>

#include "gtest/gtest.h"
#include "orchestrator/observation/observation_json.h"

namespace headrace::orchestrate {
namespace {

// A window of 2 s: trainers take `demand` when they do not wait, each of `workers` with 2 threads
// makes `rate`, busy for `full` of its time when it does.
Observation Window(double at, double demand, double rate, size_t workers, double full = 1) {
  Observation seen{.at_seconds = at, .window_seconds = 2, .workers_wanted = workers};
  JobObservation job{.job = 1, .name = "a"};
  job.clients = 1;
  job.elements_per_second = std::min(demand, rate * static_cast<double>(workers));
  job.demand = demand;
  job.stall = 1 - job.elements_per_second / demand;
  job.busy_seconds = job.elements_per_second / rate * 2 * 2 * full;
  seen.jobs = {job};
  for (size_t i = 0; i < workers; ++i) seen.workers.push_back({.worker = i + 1, .cores = 2});
  return seen;
}

TEST(RecordedTraceTest, DemandAndRateAreFound) {
  std::vector<Observation> recording;
  for (int i = 0; i < 10; ++i) recording.push_back(Window(100 + 2 * i, 100, 10, 3, 0.8));
  const auto trace = TraceOf(recording, 0);
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_DOUBLE_EQ(trace->seconds, 20);
  ASSERT_EQ(trace->jobs.size(), 1u);
  EXPECT_NEAR(trace->jobs[0].demand, 100, 1e-9);
  EXPECT_NEAR(trace->jobs[0].worker_rate, 10, 1e-9);
  EXPECT_NEAR(trace->jobs[0].full_busy, 0.8, 1e-9);
  EXPECT_TRUE(trace->steps.empty());
  EXPECT_NEAR(trace->noise, 0, 1e-9);
}

TEST(RecordedTraceTest, ALevelThatLastsIsAStepAndOneOddWindowIsNone) {
  std::mt19937_64 rng(5);
  std::normal_distribution<double> normal;
  std::vector<Observation> recording;
  for (int i = 0; i < 60; ++i) {
    const double demand = i < 30 ? 50 : 100;
    const double odd = i == 10 ? 3 : 1;
    recording.push_back(Window(2 * i, odd * demand * std::exp(0.05 * normal(rng)), 10, 20));
  }
  const auto trace = TraceOf(recording, 0);
  ASSERT_TRUE(trace.ok()) << trace.status();
  ASSERT_EQ(trace->steps.size(), 1u);
  EXPECT_EQ(trace->steps[0].at, 60);
  EXPECT_NEAR(trace->steps[0].demand_factor, 2, 0.15);
  EXPECT_NEAR(trace->JobAt(0, 100).demand, 100, 5);
  EXPECT_GT(trace->noise, 0.02);
  EXPECT_LT(trace->noise, 0.2);
}

TEST(RecordedTraceTest, WhoRanAtTheEndGoesOnAndWhoWentHasGone) {
  std::vector<Observation> recording;
  for (int i = 0; i < 10; ++i) {
    recording.push_back(Window(2 * i, 100, 10, 3));
    if (i < 3) {
      recording.back().jobs.push_back(recording.back().jobs[0]);
      recording.back().jobs[1].name = "b";
    }
  }
  recording[4].workers_lost = 2;
  recording[9].jobs[0].clients = 0;  // between two epochs
  recording[9].jobs[0].connected = 1;
  const auto trace = TraceOf(recording, 600);
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_EQ(trace->seconds, 600);
  EXPECT_GT(trace->JobAt(0, 599).demand, 0);
  EXPECT_GT(trace->JobAt(1, 5).demand, 0);
  EXPECT_EQ(trace->JobAt(1, 6).demand, 0);
  EXPECT_EQ(trace->preemptions.size(), 2u);
}

TEST(RecordedTraceTest, WhatTellsNothingIsRefused) {
  EXPECT_FALSE(TraceOf({}, 0).ok());
  Observation idle = Window(2, 100, 10, 3);
  idle.jobs[0].clients = 0;
  EXPECT_FALSE(TraceOf({idle}, 0).ok());
}

TEST(RecordedTraceTest, AFileIsReadLineByLineAndADamagedLineIsNamed) {
  const std::string path = std::string(testing::TempDir()) + "/recorded_trace_test.jsonl";
  std::ofstream(path) << ToJsonLine(Window(2, 100, 10, 3)) << "\n"
                      << ToJsonLine(Window(4, 100, 10, 3)) << "\n";
  const auto recording = ReadRecording(path);
  ASSERT_TRUE(recording.ok()) << recording.status();
  EXPECT_EQ(recording->size(), 2u);
  std::ofstream(path, std::ios::app) << "{\"at_seconds\": 6\n";
  EXPECT_NE(ReadRecording(path).status().message().find("recorded_trace_test.jsonl:3:"),
            std::string::npos);
  std::filesystem::remove(path);
  EXPECT_EQ(ReadRecording(path).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace headrace::orchestrate
