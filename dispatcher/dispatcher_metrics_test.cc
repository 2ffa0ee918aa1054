#include "dispatcher/dispatcher_metrics.h"

#include <gmock/gmock.h>

#include "dispatcher/test_bed.h"

namespace headrace {
namespace {

using testing::HasSubstr;
using testing::Not;

class DispatcherMetricsTest : public DispatcherBed {
 protected:
  void SetUp() override {
    service = std::make_unique<DispatcherService>(
        config, DispatcherService::Deps{&journal, &resolver, &clock, &shown_});
  }
  Metrics metrics_;
  DispatcherMetrics shown_{metrics_};
};

TEST_F(DispatcherMetricsTest, WorkersLeasesAndRecordsAreShownAndAJobsSeriesGoWithIt) {
  TestWorker worker = AddWorker("w:1");
  TestClient client = Open("train");
  ASSERT_TRUE(Start(client).ok());
  const uint64_t task = TasksOf(worker).at(0);
  Lease(worker, task, 1, 2);
  Beat(client, task, {MakeRun(0, 0, 7)});
  service->RunDuties();
  const std::string text = metrics_.Text();
  EXPECT_THAT(text, HasSubstr("headrace_dispatcher_workers{state=\"ready\"} 1"));
  EXPECT_THAT(text, HasSubstr("headrace_dispatcher_leases{state=\"open\"} 2"));
  EXPECT_THAT(
      text, HasSubstr("headrace_dispatcher_records_total{job=\"train\",outcome=\"delivered\"} 7"));
  EXPECT_THAT(text, HasSubstr("headrace_dispatcher_jobs 1"));
  v1::CancelJobRequest cancel;
  cancel.set_job_name("train");
  ASSERT_TRUE(service->CancelJob(cancel).ok());
  service->RunDuties();
  EXPECT_THAT(metrics_.Text(), Not(HasSubstr("\"train\"")));
}

TEST_F(DispatcherMetricsTest, TrainersWaitsAreAddedUpOverTheirLives) {
  TestWorker worker = AddWorker("w:1");
  const auto report = [&](TestClient& client, double wait, double step) {
    v1::ClientBeatRequest request;
    request.set_client(client.id);
    request.set_job(client.job);
    request.set_epoch(client.epoch);
    request.set_report_number(++client.reports);
    request.mutable_load()->set_wait_seconds(wait);
    request.mutable_load()->set_step_seconds(step);
    ASSERT_TRUE(service->ClientBeat(request).ok());
    service->RunDuties();
  };
  TestClient first = Open("train");
  ASSERT_TRUE(Start(first).ok());
  report(first, 1, 3);
  report(first, 2, 6);
  EXPECT_THAT(metrics_.Text(), HasSubstr("headrace_client_wait_seconds_total{job=\"train\"} 2"));
  EXPECT_THAT(metrics_.Text(), HasSubstr("headrace_client_step_seconds_total{job=\"train\"} 6"));
  EXPECT_THAT(metrics_.Text(), HasSubstr("headrace_client_stall_fraction{job=\"train\"} 0.25"));
}

TEST_F(DispatcherMetricsTest, CallsAreMeasuredAndErrorsCounted) {
  shown_.ObserveCall("OpenJob", absl::Milliseconds(3), absl::StatusCode::kOk);
  shown_.ObserveCall("OpenJob", absl::Milliseconds(3), absl::StatusCode::kNotFound);
  EXPECT_THAT(metrics_.Text(),
              HasSubstr("headrace_dispatcher_rpc_seconds_count{method=\"OpenJob\"} 2"));
  EXPECT_THAT(metrics_.Text(),
              HasSubstr("headrace_dispatcher_rpc_errors_total{method=\"OpenJob\"} 1"));
}

}  // namespace
}  // namespace headrace
