// A dispatcher without network, threads or real time, and short ways to be its workers and clients.
// For tests; no binary links it.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "common/fake_clock.h"
#include "dispatcher/fake_pipeline_resolver.h"
#include "dispatcher/journal/memory_journal.h"
#include "dispatcher/service.h"

namespace headrace {

inline v1::Run MakeRun(uint64_t split, uint64_t first, uint64_t count, uint32_t part = 0,
                       uint32_t parts = 1, uint32_t pass = 0) {
  v1::Run run;
  run.set_split(split);
  run.set_first(first);
  run.set_count(count);
  run.set_part(part);
  run.set_parts(parts);
  run.set_pass(pass);
  return run;
}

struct TestWorker {
  uint64_t id = 0;
  uint64_t uid = 0;
  std::string address;
  uint64_t reports = 0;
};

struct TestClient {
  uint64_t id = 0;
  uint64_t job = 0;
  uint64_t epoch = 0;
  uint64_t reports = 0;
};

class DispatcherBed : public testing::Test {
 protected:
  // Calls before any other.
  void Use(FakePipelineResolver::Shape shape) {
    resolver = FakePipelineResolver(std::move(shape));
    Restart();
  }
  // A new process over the old journal.
  virtual void Restart() {
    service = std::make_unique<DispatcherService>(
        config, DispatcherService::Deps{&journal, &resolver, &clock, nullptr});
    ASSERT_TRUE(service->Recover().ok());
  }
  void SetUp() override { Restart(); }

  // Every call is made twice: the second must change nothing and be answered alike.
  template <typename Request, typename Reply>
  absl::StatusOr<Reply> Twice(absl::StatusOr<Reply> (DispatcherService::*method)(const Request&),
                              const Request& request) {
    absl::StatusOr<Reply> first = ((*service).*method)(request);
    const std::string before = service->Dump();
    absl::StatusOr<Reply> second = ((*service).*method)(request);
    EXPECT_EQ(service->Dump(), before) << request.ShortDebugString();
    EXPECT_EQ(first.status(), second.status());
    if (first.ok() && second.ok()) {
      EXPECT_EQ(first->ShortDebugString(), second->ShortDebugString());
    }
    return first;
  }

  TestWorker AddWorker(const std::string& address, uint64_t uid = 0,
                       const std::vector<std::string>& tags = {}) {
    v1::RegisterWorkerRequest request;
    request.mutable_tags()->Assign(tags.begin(), tags.end());
    TestWorker worker{0, uid != 0 ? uid : ++uids, address, 0};
    request.set_worker_uid(worker.uid);
    request.set_address(address);
    const auto reply = Twice(&DispatcherService::RegisterWorker, request);
    EXPECT_TRUE(reply.ok()) << reply.status();
    worker.id = reply->worker();
    return worker;
  }
  v1::OpenJobRequest OpenRequest(const std::string& name = "job") {
    v1::OpenJobRequest request;
    request.set_job_name(name);
    *request.mutable_options() = options;
    *request.mutable_pipeline() = pipeline;
    request.set_client_uid(++uids);
    return request;
  }
  TestClient Open(const std::string& name = "job") {
    const auto reply = Twice(&DispatcherService::OpenJob, OpenRequest(name));
    EXPECT_TRUE(reply.ok()) << reply.status();
    return {reply->client(), reply->job(), reply->next_epoch(), 0};
  }
  absl::StatusOr<v1::StartEpochReply> Start(TestClient& client, uint64_t epoch = 0) {
    v1::StartEpochRequest request;
    request.set_client(client.id);
    request.set_job(client.job);
    request.set_epoch(epoch);
    client.epoch = epoch;
    return Twice(&DispatcherService::StartEpoch, request);
  }
  v1::ClientBeatReply Beat(TestClient& client, uint64_t task = 0, std::vector<v1::Run> runs = {},
                           std::vector<uint64_t> confirmed = {},
                           std::vector<uint64_t> broken = {}) {
    v1::ClientBeatRequest request;
    request.set_client(client.id);
    request.set_job(client.job);
    request.set_epoch(client.epoch);
    request.set_report_number(++client.reports);
    if (!runs.empty()) {
      v1::TaskRuns& delivered = *request.add_delivered();
      delivered.set_task(task);
      delivered.mutable_runs()->Assign(runs.begin(), runs.end());
    }
    request.mutable_confirmed_fences()->Assign(confirmed.begin(), confirmed.end());
    request.mutable_broken_tasks()->Assign(broken.begin(), broken.end());
    const auto reply = Twice(&DispatcherService::ClientBeat, request);
    EXPECT_TRUE(reply.ok()) << reply.status();
    return reply.value_or(v1::ClientBeatReply());
  }
  void Close(const TestClient& client, uint64_t task = 0, std::vector<v1::Run> runs = {}) {
    v1::CloseClientRequest request;
    request.set_client(client.id);
    request.set_job(client.job);
    request.set_epoch(client.epoch);
    v1::TaskRuns& delivered = *request.add_delivered();
    delivered.set_task(task);
    delivered.mutable_runs()->Assign(runs.begin(), runs.end());
    EXPECT_TRUE(Twice(&DispatcherService::CloseClient, request).ok());
  }

  v1::WorkerBeatReply Beat(TestWorker& worker, std::vector<v1::SplitReport> splits = {},
                           std::vector<uint64_t> running = {},
                           std::vector<v1::TaskError> errors = {}, bool draining = false) {
    v1::WorkerBeatRequest request;
    request.set_worker(worker.id);
    request.set_worker_uid(worker.uid);
    request.set_report_number(++worker.reports);
    request.mutable_splits()->Assign(splits.begin(), splits.end());
    request.mutable_running_tasks()->Assign(running.begin(), running.end());
    request.mutable_errors()->Assign(errors.begin(), errors.end());
    request.set_draining(draining);
    const auto reply = service->WorkerBeat(request);
    const std::string before = service->Dump();
    EXPECT_TRUE(service->WorkerBeat(request).ok());
    EXPECT_EQ(service->Dump(), before);
    EXPECT_TRUE(reply.ok()) << reply.status();
    return reply.value_or(v1::WorkerBeatReply());
  }
  // The tasks that the worker should run.
  std::vector<uint64_t> TasksOf(TestWorker& worker) {
    std::vector<uint64_t> tasks;
    const v1::WorkerBeatReply reply = Beat(worker);
    for (const v1::TaskDef& def : reply.start()) tasks.push_back(def.task());
    return tasks;
  }
  v1::LeaseSplitsReply Lease(const TestWorker& worker, uint64_t task, uint64_t number,
                             uint32_t want = 1) {
    v1::LeaseSplitsRequest request;
    request.set_worker(worker.id);
    request.set_task(task);
    request.set_request_number(number);
    request.set_want(want);
    return Twice(&DispatcherService::LeaseSplits, request).value();
  }
  static v1::SplitReport ReadToEnd(uint64_t task, const v1::Lease& lease, uint64_t records,
                                   std::vector<v1::Run> settled = {}) {
    v1::SplitReport report;
    report.set_task(task);
    report.set_lease(lease.number());
    report.set_split(lease.split().id());
    report.set_pass(lease.pass());
    report.set_read_to_end(true);
    report.set_records(records);
    report.mutable_settled()->Assign(settled.begin(), settled.end());
    return report;
  }
  v1::JobStatus JobNamed(const std::string& name = "job") {
    v1::ListJobsRequest request;
    request.set_job_name(name);
    const auto reply = Twice(&DispatcherService::ListJobs, request);
    return reply.ok() && reply->jobs_size() != 0 ? reply->jobs(reply->jobs_size() - 1)
                                                 : v1::JobStatus();
  }
  std::vector<uint64_t> FencesOf(TestClient& client) {
    const v1::ClientBeatReply reply = Beat(client);
    return {reply.fences().begin(), reply.fences().end()};
  }
  // Time passes, with the dispatcher's duties on the way; `alive` beat meanwhile.
  void Pass(absl::Duration time, std::vector<TestWorker*> workers = {},
            std::vector<TestClient*> clients = {}) {
    for (absl::Duration t; t < time; t += absl::Milliseconds(500)) {
      clock.Advance(absl::Milliseconds(500));
      for (TestWorker* worker : workers) Beat(*worker);
      for (TestClient* client : clients) Beat(*client);
      service->RunDuties();
    }
  }

  DispatcherConfig config;
  FakeClock clock;
  MemoryJournal journal{/*keep=*/true};
  FakePipelineResolver resolver{FakePipelineResolver::Shape{.splits = 4}};
  std::unique_ptr<DispatcherService> service;
  v1::JobOptions options;
  v1::PipelineDef pipeline;
  uint64_t uids = 0;
};

}  // namespace headrace
