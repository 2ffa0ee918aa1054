#include "orchestrator/observation/observation_json.h"

#include "gtest/gtest.h"

namespace headrace::orchestrate {
namespace {

Observation Example() {
  Observation seen{.at_seconds = 12.5, .window_seconds = 2, .workers_wanted = 3, .workers_lost = 1};
  JobObservation job{.job = 7, .name = "a \"job\"", .weight = 2, .priority = -1};
  job.min_workers = 0.5;
  job.max_workers = 4;
  job.clients = 2;
  job.connected = 3;
  job.waits_for_workers = true;
  job.elements_per_second = 80;
  job.stall = 0.0;  // it was told, and is nothing
  job.fetch_stall = 0.25;
  job.prepare_stall = 0.5;
  job.queue_fill = 0.75;
  job.bytes_per_element = 1e9;
  job.epoch_progress = 0.1;
  job.busy_seconds = 3.5;
  job.cpu_seconds = 3;
  job.steps = {{.step = "decode", .cpu_seconds = 1, .rows_in = 10, .rows_out = 9}};
  seen.jobs = {job};
  WorkerObservation worker{.worker = 1, .address = "h:1", .host = "h", .tags = {"x", "y"}};
  worker.condition = WorkerCondition::kDraining;
  worker.cores = 2;
  worker.cpu_seconds = 1.5;
  worker.tasks = 4;
  seen.workers = {worker, {.worker = 2, .busy = 0.5}};
  seen.tiers = {{.worker = 1, .tier = "disk", .capacity_bytes = 5, .hits = 3}};
  return seen;
}

TEST(ObservationJsonTest, WhatIsWrittenIsReadAgain) {
  const Observation before = Example();
  const std::string line = ToJsonLine(before);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto after = ObservationFromJson(line);
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(after->at_seconds, 12.5);
  EXPECT_EQ(after->workers_wanted, 3u);
  EXPECT_EQ(after->workers_lost, 1u);
  EXPECT_EQ(after->ready(), 1u);
  const JobObservation& job = after->jobs.at(0);
  EXPECT_EQ(job.name, "a \"job\"");
  EXPECT_EQ(job.priority, -1);
  EXPECT_EQ(job.max_workers, 4);
  EXPECT_EQ(job.demand, std::nullopt);
  EXPECT_EQ(job.stall, 0.0);
  EXPECT_TRUE(job.waits_for_workers);
  EXPECT_EQ(job.steps.at(0).rows_out, 9);
  EXPECT_EQ(after->workers.at(0).tags, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(after->workers.at(0).busy, std::nullopt);
  EXPECT_EQ(after->workers.at(1).busy, 0.5);
  EXPECT_EQ(after->tiers.at(0).tier, "disk");
  EXPECT_EQ(after->tiers.at(0).hits, 3);
  EXPECT_EQ(ToJsonLine(*after), line);  // what is not named above, too
}

TEST(ObservationJsonTest, WhatIsNoObservationIsRefused) {
  EXPECT_FALSE(ObservationFromJson("").ok());
  EXPECT_FALSE(ObservationFromJson("[1]").ok());
  EXPECT_FALSE(ObservationFromJson("{}").ok());
  EXPECT_FALSE(ObservationFromJson(R"({"at_seconds":1,"window_seconds":-1})").ok());
  EXPECT_FALSE(ObservationFromJson(R"({"at_seconds":1,"window_seconds":1,"jobs":[3]})").ok());
  EXPECT_FALSE(
      ObservationFromJson(R"({"at_seconds":1,"window_seconds":1,"jobs":[{"name":3}]})").ok());
  EXPECT_TRUE(ObservationFromJson(R"({"at_seconds":1,"window_seconds":1,"later":[3]})").ok());
}

}  // namespace
}  // namespace headrace::orchestrate
