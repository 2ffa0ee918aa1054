// A dispatcher that says what a test tells it to, and writes down what it was told. Thread-safe.
// Not linked into any binary.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "common/status.h"
#include "rpc/dispatcher_handler.h"

namespace headrace {

class ScriptedDispatcher final : public DispatcherHandler {
 public:
  // What it knows and says; under its mutex, so through Set and Look.
  struct Script {
    std::map<uint64_t, std::string> tasks;  // task -> address
    uint64_t tasks_version = 1;
    std::set<uint64_t> fences;  // told until they are confirmed
    bool finished = false;
    bool down = false;     // every call is UNAVAILABLE
    bool unknown = false;  // knows no client; opening the job makes it known
    uint64_t client = 100;
    uint64_t cluster = 5;
    uint32_t client_timeout_ms = 0;
    absl::Status start_epoch = absl::OkStatus();
    absl::Status failure = absl::OkStatus();
    uint64_t incarnation = 0;
    v1::RestoreJobReply restore_reply;
    std::vector<v1::SplitSpan> needs;  // told in every beat
    // What it was told.
    std::vector<v1::OpenJobRequest> opens;
    std::vector<v1::StartEpochRequest> starts;
    std::vector<v1::RestoreJobRequest> restores;
    std::vector<v1::CloseClientRequest> closes;
    v1::ClientBeatRequest last_beat;
    size_t beats = 0;
    std::set<uint64_t> delivered;  // first records of the runs, and those that follow
    std::set<uint64_t> confirmed;
    std::set<uint64_t> delivered_at_confirmation;
    std::set<uint64_t> broken;
  };
  template <typename Change>
  void Set(Change change) {
    absl::MutexLock lock(&mutex_);
    change(script_);
  }
  // Waits until `done(script)`, with a bound.
  template <typename Done>
  bool Until(Done done) {
    const auto is_done = [&] { return done(script_); };
    absl::MutexLock lock(&mutex_);
    return mutex_.AwaitWithTimeout(absl::Condition(&is_done), absl::Seconds(20));
  }
  Script Look() {
    absl::MutexLock lock(&mutex_);
    return script_;
  }

  absl::StatusOr<v1::OpenJobReply> OpenJob(const v1::OpenJobRequest& request) override {
    absl::MutexLock lock(&mutex_);
    if (script_.down) return Unavailable("down");
    script_.opens.push_back(request);
    if (script_.unknown) {
      script_.unknown = false;
      ++script_.client;
    }
    v1::OpenJobReply reply;
    reply.set_job(7);
    reply.set_client(script_.client);
    reply.set_cluster(script_.cluster);
    reply.set_job_name("job");
    reply.set_incarnation(script_.incarnation);
    reply.set_fingerprint("print");
    reply.set_dataset_version("v1");
    reply.set_client_timeout_milliseconds(script_.client_timeout_ms);
    return reply;
  }
  absl::StatusOr<v1::StartEpochReply> StartEpoch(const v1::StartEpochRequest& request) override {
    absl::MutexLock lock(&mutex_);
    if (script_.down) return Unavailable("down");
    if (script_.unknown || request.client() != script_.client) return NotFound("who are you");
    script_.starts.push_back(request);
    if (!script_.start_epoch.ok()) return script_.start_epoch;
    v1::StartEpochReply reply;
    reply.set_tasks_version(script_.tasks_version);
    AddTasks(reply.mutable_tasks());
    return reply;
  }
  absl::StatusOr<v1::ClientBeatReply> ClientBeat(const v1::ClientBeatRequest& request) override {
    absl::MutexLock lock(&mutex_);
    if (script_.down) return Unavailable("down");
    v1::ClientBeatReply reply;
    reply.set_beat_milliseconds(5);
    if (script_.unknown || request.client() != script_.client) {
      reply.set_unknown_client(true);
      return reply;
    }
    Note(request);
    reply.set_acknowledged_report(request.report_number());
    for (uint64_t task : script_.fences) reply.add_fences(task);
    reply.set_tasks_version(script_.tasks_version);
    if (request.tasks_version() != script_.tasks_version) {
      reply.set_tasks_changed(true);
      AddTasks(reply.mutable_tasks());
    }
    for (const v1::SplitSpan& span : script_.needs) *reply.add_needs() = span;
    reply.set_epoch_finished(script_.finished);
    reply.mutable_summary()->set_delivered(script_.delivered.size());
    if (!script_.failure.ok()) {
      reply.mutable_failure()->set_code(static_cast<uint32_t>(script_.failure.code()));
      reply.mutable_failure()->set_message(std::string(script_.failure.message()));
    }
    return reply;
  }
  absl::StatusOr<v1::CloseClientReply> CloseClient(const v1::CloseClientRequest& request) override {
    absl::MutexLock lock(&mutex_);
    if (script_.down) return Unavailable("down");
    script_.closes.push_back(request);
    Deliver(request.delivered());
    return v1::CloseClientReply();
  }

  absl::StatusOr<v1::RestoreJobReply> RestoreJob(const v1::RestoreJobRequest& request) override {
    absl::MutexLock lock(&mutex_);
    if (script_.down) return Unavailable("down");
    script_.restores.push_back(request);
    return script_.restore_reply;
  }

  absl::StatusOr<v1::RegisterWorkerReply> RegisterWorker(
      const v1::RegisterWorkerRequest&) override {
    return Unimplemented("not for workers");
  }
  absl::StatusOr<v1::WorkerBeatReply> WorkerBeat(const v1::WorkerBeatRequest&) override {
    return Unimplemented("not for workers");
  }
  absl::StatusOr<v1::LeaseSplitsReply> LeaseSplits(const v1::LeaseSplitsRequest&) override {
    return Unimplemented("not for workers");
  }
  absl::StatusOr<v1::ListJobsReply> ListJobs(const v1::ListJobsRequest&) override {
    return Unimplemented("not for operators");
  }
  absl::StatusOr<v1::ListWorkersReply> ListWorkers(const v1::ListWorkersRequest&) override {
    return Unimplemented("not for operators");
  }
  absl::StatusOr<v1::CancelJobReply> CancelJob(const v1::CancelJobRequest&) override {
    return Unimplemented("not for operators");
  }
  absl::StatusOr<v1::DrainWorkerReply> DrainWorker(const v1::DrainWorkerRequest&) override {
    return Unimplemented("not for operators");
  }
  absl::StatusOr<v1::ReleaseJobReply> ReleaseJob(const v1::ReleaseJobRequest&) override {
    return Unimplemented("not for operators");
  }

 private:
  void AddTasks(google::protobuf::RepeatedPtrField<v1::TaskAddress>* out) {
    for (const auto& [task, address] : script_.tasks) {
      v1::TaskAddress* added = out->Add();
      added->set_task(task);
      added->set_address(address);
    }
  }
  void Note(const v1::ClientBeatRequest& request) {
    ++script_.beats;
    script_.last_beat = request;
    Deliver(request.delivered());
    for (uint64_t task : request.broken_tasks()) script_.broken.insert(task);
    for (uint64_t task : request.confirmed_fences()) {
      if (script_.confirmed.insert(task).second)
        script_.delivered_at_confirmation = script_.delivered;
      script_.fences.erase(task);
    }
  }
  void Deliver(const google::protobuf::RepeatedPtrField<v1::TaskRuns>& delivered) {
    for (const v1::TaskRuns& runs : delivered) {
      for (const v1::Run& run : runs.runs()) {
        for (uint64_t i = 0; i < run.count(); ++i) script_.delivered.insert(run.first() + i);
      }
    }
  }

  absl::Mutex mutex_;
  Script script_;
};

}  // namespace headrace
