#include "dispatcher/state/job_table.h"

#include <algorithm>

#include "common/status.h"

namespace headrace::dispatch {
namespace {

std::shared_ptr<JobData> DataOf(const v1::JobOpened& event, SplitList splits) {
  auto dataset = std::make_shared<JobData>();
  dataset->splits = std::move(splits);
  dataset->files = dataset->splits.files();
  dataset->passes = std::max<uint64_t>(1, event.passes());
  dataset->single_task = event.single_task();
  dataset->shard_hint = event.shard_hint();
  dataset->version = event.dataset_version();
  dataset->source_schema = event.source_schema();
  dataset->schema = event.schema();
  dataset->batched = event.batched();
  if (event.has_ordered()) dataset->ordered = event.ordered();
  dataset->ordered_lanes = event.options().ordered_lanes();
  dataset->ordered_window_bytes = event.options().ordered_window_bytes();
  return dataset;
}

void Fill(const v1::JobOpened& event, Job& job) {
  job.id = JobId(event.job());
  job.name = event.name();
  job.pipeline = event.pipeline();
  job.options = event.options();
  job.fingerprint = event.fingerprint();
  job.incarnation = event.incarnation();
}

}  // namespace

absl::Status JobTable::Open(const v1::JobOpened& event, SplitList splits) {
  if (jobs_.contains(JobId(event.job()))) return AlreadyExists("job {} is there", event.job());
  Job& job = jobs_[JobId(event.job())];
  Fill(event, job);
  job.dataset = DataOf(event, std::move(splits));
  ++running_;
  return absl::OkStatus();
}

void JobTable::Keep(const Job& job, v1::KeptJob& kept) {
  v1::JobOpened& opened = *kept.mutable_opened();
  opened.set_job(job.id.value);
  opened.set_name(job.name);
  *opened.mutable_pipeline() = job.pipeline;
  *opened.mutable_options() = job.options;
  opened.set_fingerprint(job.fingerprint);
  opened.set_incarnation(job.incarnation);
  kept.set_has_dataset(job.dataset != nullptr);
  if (job.dataset != nullptr) {
    opened.set_passes(job.dataset->passes);
    opened.set_single_task(job.dataset->single_task);
    opened.set_shard_hint(job.dataset->shard_hint);
    opened.set_dataset_version(job.dataset->version);
    *opened.mutable_source_schema() = job.dataset->source_schema;
    *opened.mutable_schema() = job.dataset->schema;
    opened.set_batched(job.dataset->batched);
    if (job.dataset->ordered.has_value()) *opened.mutable_ordered() = *job.dataset->ordered;
  }
  kept.set_next_epoch(job.next_epoch);
  for (const auto& [number, epoch] : job.finished) {
    v1::KeptFinishedEpoch& finished = *kept.add_finished();
    finished.set_epoch(number);
    *finished.mutable_summary() = epoch.summary;
    finished.set_abandoned(epoch.abandoned);
    epoch.counts.Keep(*finished.mutable_counts());
  }
  kept.set_ended(job.ended);
  kept.set_end_code(job.end_code);
  kept.set_end_message(job.end_message);
  job.past.Keep(*kept.mutable_past());
  for (const ClientId member : job.members) kept.add_members(member.value);
  kept.set_restored_epoch(job.restored_epoch);
  if (job.restored != nullptr) *kept.mutable_restored() = *job.restored;
  kept.mutable_warnings()->Assign(job.warnings.begin(), job.warnings.end());
}

absl::StatusOr<Job*> JobTable::Reload(const v1::KeptJob& kept) {
  const auto [it, fresh] = jobs_.try_emplace(JobId(kept.opened().job()));
  if (!fresh) return AlreadyExists("job {} is there", kept.opened().job());
  Job& job = it->second;
  Fill(kept.opened(), job);
  if (kept.has_dataset()) job.dataset = DataOf(kept.opened(), SplitList());
  job.next_epoch = kept.next_epoch();
  for (const v1::KeptFinishedEpoch& epoch : kept.finished()) {
    FinishedEpoch& finished = job.finished[epoch.epoch()];
    finished.summary = epoch.summary();
    finished.abandoned = epoch.abandoned();
    finished.counts.Reload(epoch.counts());
  }
  job.ended = kept.ended();
  job.end_code = kept.end_code();
  job.end_message = kept.end_message();
  job.past.Reload(kept.past());
  for (const uint64_t member : kept.members()) job.members.emplace_back(member);
  job.restored_epoch = kept.restored_epoch();
  if (kept.has_restored()) {
    job.restored = std::make_shared<const v1::JobRestored>(kept.restored());
  }
  job.warnings.assign(kept.warnings().begin(), kept.warnings().end());
  running_ += job.ended ? 0 : 1;
  return &job;
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
