// State in snapshots and in words. Whatever is added to State, a Job, a Client or a Worker is added
// here (or where their tables keep themselves), too.
#include <utility>

#include "common/status.h"
#include "dispatcher/state/state.h"

namespace headrace::dispatch {
namespace {

std::string JobText(const Job& job) {
  std::string out =
      fmt::format("job {} '{}' {} ended {} code {} '{}' next {} clients", job.id.value, job.name,
                  job.fingerprint, job.ended, job.end_code, job.end_message, job.next_epoch);
  for (const ClientId client : job.clients) out += fmt::format(" {}", client.value);
  out += fmt::format(" past {}/{}/{}/{}/{}", job.past.delivered, job.past.settled, job.past.failed,
                     job.past.given_up, job.past.retired);
  out += fmt::format(" restored {} skipped {} life {} from {} {} warnings {} members",
                     job.past.restored, job.past.skipped, job.incarnation, job.restored_epoch,
                     job.restored != nullptr, job.warnings.size());
  for (const ClientId member : job.members) out += fmt::format(" {}", member.value);
  for (const auto& [number, finished] : job.finished) {
    out += fmt::format(" epoch {}:{}/{}/{}{}", number, finished.summary.delivered(),
                       finished.summary.settled(), finished.counts.retired,
                       finished.abandoned ? " abandoned" : "");
  }
  if (job.dataset != nullptr) {
    out +=
        fmt::format(" dataset {} splits {} files {} passes {}{}{}{}", job.dataset->version,
                    job.dataset->splits.size(), job.dataset->files, job.dataset->passes,
                    job.dataset->single_task ? " single" : "",
                    job.dataset->shard_hint ? " hint" : "", job.dataset->batched ? " batched" : "");
  }
  return out + '\n';
}

}  // namespace

std::unique_ptr<Snapshot> State::TakeSnapshot() const {
  auto snapshot = std::make_unique<Snapshot>();
  v1::StatePart part;
  v1::KeptIds& ids = *part.mutable_ids();
  ids.set_cluster(cluster_);
  ids.set_last_job(last_job_);
  ids.set_last_client(last_client_);
  ids.set_last_worker(last_worker_);
  ids.set_last_task(last_task_);
  ids.set_last_lease(last_lease_);
  snapshot->Add(std::exchange(part, {}));
  for (const auto& [id, worker] : workers_.all()) {
    WorkerTable::Keep(worker, *part.mutable_worker());
    snapshot->Add(std::exchange(part, {}));
  }
  for (const auto& [id, job] : jobs_.all()) {
    JobTable::Keep(job, *part.mutable_job());
    snapshot->Add(std::exchange(part, {}));
    if (job.dataset != nullptr) snapshot->AddSplits(job.dataset);
    for (const ClientId client : job.clients) {
      ClientTable::Keep(*clients_.Find(client), *part.mutable_client());
      snapshot->Add(std::exchange(part, {}));
    }
    if (job.epoch.has_value()) job.epoch->Keep(*snapshot);
  }
  return snapshot;
}

absl::Status State::Reload(std::string_view chunk) {
  v1::StateChunk parts;
  if (!parts.ParseFromArray(chunk.data(), static_cast<int>(chunk.size()))) {
    return InvalidArgument("a chunk of {} bytes that is no part of a snapshot", chunk.size());
  }
  for (const v1::StatePart& part : parts.parts()) HR_RETURN_IF_ERROR(ReloadPart(part));
  return absl::OkStatus();
}

absl::Status State::ReloadPart(const v1::StatePart& part) {
  switch (part.kind_case()) {
    case v1::StatePart::kIds:
      cluster_ = part.ids().cluster();
      last_job_ = part.ids().last_job();
      last_client_ = part.ids().last_client();
      last_worker_ = part.ids().last_worker();
      last_task_ = part.ids().last_task();
      last_lease_ = part.ids().last_lease();
      return absl::OkStatus();
    case v1::StatePart::kWorker:
      return workers_.Reload(part.worker());
    case v1::StatePart::kJob: {
      HR_ASSIGN_OR_RETURN(reloading_, jobs_.Reload(part.job()));
      return absl::OkStatus();
    }
    case v1::StatePart::KIND_NOT_SET:
      return InvalidArgument("a part of an unknown kind in a snapshot (of a newer version?)");
    default:
      if (reloading_ == nullptr) return InvalidArgument("a part of a job before any job");
      return Annotate(ReloadJobPart(part, *reloading_), fmt::format("job '{}'", reloading_->name));
  }
}

absl::Status State::ReloadJobPart(const v1::StatePart& part, Job& job) {
  switch (part.kind_case()) {
    case v1::StatePart::kSplits: {
      if (job.dataset == nullptr || job.epoch.has_value()) break;
      // Nobody shares it yet.
      auto& data = const_cast<JobData&>(*job.dataset);
      HR_RETURN_IF_ERROR(data.splits.Decode(part.splits()));
      data.files = data.splits.files();
      return absl::OkStatus();
    }
    case v1::StatePart::kClient:
      if (part.client().joined().job() != job.id.value) break;
      job.clients.insert(ClientId(part.client().joined().client()));
      return clients_.Reload(part.client());
    case v1::StatePart::kEpoch:
      if (job.dataset == nullptr || job.epoch.has_value()) break;
      job.epoch.emplace(part.epoch().started(), job.dataset, job.options.world_size());
      return job.epoch->Reload(part);
    case v1::StatePart::kTask:
      task_jobs_[TaskId(part.task().task())] = job.id;
      [[fallthrough]];
    default:
      if (!job.epoch.has_value()) break;
      return job.epoch->Reload(part);
  }
  return InvalidArgument("a part {} out of its order", static_cast<int>(part.kind_case()));
}

std::string State::Dump() const {
  std::string out = fmt::format("cluster {:x} ids {} {} {} {} {}\n", cluster_, last_job_,
                                last_client_, last_worker_, last_task_, last_lease_);
  for (const auto& [id, worker] : workers_.all()) {
    out += fmt::format("worker {} uid {} at {} state {} host {} cores {} transports {} tags {}\n",
                       id.value, worker.uid, worker.address, static_cast<int>(worker.state),
                       worker.host, worker.cores, worker.transports.size(), worker.tags.size());
  }
  for (const auto& [id, client] : clients_.all()) {
    out += fmt::format("client {} uid {} job {} rank {} of {} host {} first {} epoch {}\n",
                       id.value, client.uid, client.job.value, client.rank, client.world_size,
                       client.host, client.first_epoch,
                       client.last_epoch.has_value() ? fmt::format("{}", *client.last_epoch) : "-");
  }
  for (const auto& [id, job] : jobs_.all()) {
    out += JobText(job);
    if (job.epoch.has_value()) out += job.epoch->Dump();
  }
  std::map<TaskId, JobId> tasks(task_jobs_.begin(), task_jobs_.end());
  for (const auto& [task, job] : tasks) {
    out += fmt::format("task {} of job {}\n", task.value, job.value);
  }
  return out;
}

}  // namespace headrace::dispatch
