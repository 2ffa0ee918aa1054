#include "dispatcher/state/job_table.h"

#include <algorithm>

#include "common/status.h"

namespace headrace::dispatch {

absl::Status JobTable::Open(const v1::JobOpened& event) {
  if (jobs_.contains(JobId(event.job()))) return AlreadyExists("job {} is there", event.job());
  auto dataset = std::make_shared<JobData>();
  dataset->splits.assign(event.splits().begin(), event.splits().end());
  for (size_t i = 0; i < dataset->splits.size(); ++i) {
    v1::Split& split = dataset->splits[i];
    split.set_id(i);
    dataset->files = std::max(dataset->files, split.file_index() + 1);
  }
  dataset->passes = std::max<uint64_t>(1, event.passes());
  dataset->single_task = event.single_task();
  dataset->shard_hint = event.shard_hint();
  dataset->version = event.dataset_version();
  dataset->source_schema = event.source_schema();
  dataset->schema = event.schema();
  dataset->batched = event.batched();
  Job& job = jobs_[JobId(event.job())];
  job.id = JobId(event.job());
  job.name = event.name();
  job.pipeline = event.pipeline();
  job.options = event.options();
  job.fingerprint = event.fingerprint();
  job.dataset = std::move(dataset);
  job.incarnation = event.incarnation();
  ++running_;
  return absl::OkStatus();
}

absl::Status JobTable::End(const v1::JobEnded& event) {
  Job* job = Find(JobId(event.job()));
  if (job == nullptr || job->ended) return NotFound("no running job {}", event.job());
  job->ended = true;
  job->end_code = event.code();
  job->end_message = event.message();
  if (job->epoch.has_value()) {
    job->finished[job->epoch->number()] = {job->epoch->Summary(), true, job->epoch->counts()};
    job->epoch.reset();
  }
  job->restored = nullptr;
  job->dataset = nullptr;
  --running_;
  // Clients may still have to hear of the end of theirs: those stay a while longer.
  for (auto it = jobs_.begin(); it != jobs_.end() && jobs_.size() - running_ > kKeptEnded;) {
    it = it->second.ended && it->second.clients.empty() ? jobs_.erase(it) : std::next(it);
  }
  return absl::OkStatus();
}

Job* JobTable::Find(JobId id) {
  const auto it = jobs_.find(id);
  return it == jobs_.end() ? nullptr : &it->second;
}

const Job* JobTable::Find(JobId id) const {
  const auto it = jobs_.find(id);
  return it == jobs_.end() ? nullptr : &it->second;
}

const Job* JobTable::FindRunning(std::string_view name) const {
  const Job* job = FindLatest(name);
  return job == nullptr || job->ended ? nullptr : job;
}

const Job* JobTable::FindLatest(std::string_view name) const {
  for (auto it = jobs_.rbegin(); it != jobs_.rend(); ++it) {
    if (it->second.name == name) return &it->second;
  }
  return nullptr;
}

}  // namespace headrace::dispatch
