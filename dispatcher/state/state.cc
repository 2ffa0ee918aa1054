#include "dispatcher/state/state.h"

#include <algorithm>
#include <utility>

#include "common/status.h"

namespace headrace::dispatch {

absl::Status State::Apply(const v1::Event& event) {
  switch (event.kind_case()) {
    case v1::Event::kJobOpened:
    case v1::Event::kClientJoined:
    case v1::Event::kClientGone:
    case v1::Event::kJobEnded:
    case v1::Event::kJobRestored:
    case v1::Event::kSplitsListed:
      return ApplyJobEvent(event);
    case v1::Event::kClusterFounded:
      if (cluster_ != 0) return FailedPrecondition("the cluster is founded already");
      cluster_ = event.cluster_founded().cluster();
      return absl::OkStatus();
    case v1::Event::kWorkerRegistered:
    case v1::Event::kWorkerGone:
    case v1::Event::kWorkerDraining:
      return ApplyWorkerEvent(event);
    case v1::Event::KIND_NOT_SET:
      return InvalidArgument("an event of an unknown kind (a newer journal?)");
    default:
      return ApplyEpochEvent(event);
  }
}

absl::Status State::ApplyJobEvent(const v1::Event& event) {
  switch (event.kind_case()) {
    case v1::Event::kJobOpened:
      HR_RETURN_IF_ERROR(listed_.Decode(event.job_opened().splits()));
      HR_RETURN_IF_ERROR(jobs_.Open(event.job_opened(), std::exchange(listed_, {})));
      last_job_ = std::max(last_job_, event.job_opened().job());
      return absl::OkStatus();
    case v1::Event::kSplitsListed:
      return listed_.Decode(event.splits_listed().splits());
    case v1::Event::kClientJoined:
      return Join(event.client_joined());
    case v1::Event::kClientGone:
      return Leave(event.client_gone());
    case v1::Event::kJobRestored:
      return Restore(event.job_restored());
    default: {
      const Job* job = jobs_.Find(JobId(event.job_ended().job()));
      if (job != nullptr && job->epoch.has_value()) ForgetTasks(*job->epoch);
      return jobs_.End(event.job_ended());
    }
  }
}

absl::Status State::ApplyWorkerEvent(const v1::Event& event) {
  switch (event.kind_case()) {
    case v1::Event::kWorkerRegistered:
      HR_RETURN_IF_ERROR(workers_.Register(event.worker_registered()));
      last_worker_ = std::max(last_worker_, event.worker_registered().worker());
      return absl::OkStatus();
    case v1::Event::kWorkerGone:
      return workers_.Leave(WorkerId(event.worker_gone().worker()), event.worker_gone().lost());
    default:
      return workers_.Drain(WorkerId(event.worker_draining().worker()));
  }
}

absl::Status State::ApplyEpochEvent(const v1::Event& event) {
  switch (event.kind_case()) {
    case v1::Event::kEpochStarted:
      return StartEpoch(event.epoch_started());
    case v1::Event::kEpochFinished:
      return FinishEpoch(event.epoch_finished());
    case v1::Event::kEpochEntered:
      return Enter(event.epoch_entered());
    case v1::Event::kTaskAssigned: {
      const v1::TaskAssigned& assigned = event.task_assigned();
      Job* job = jobs_.Find(JobId(assigned.job()));
      if (job == nullptr || !job->epoch.has_value() || job->epoch->number() != assigned.epoch()) {
        return FailedPrecondition("job {} has no epoch {}", assigned.job(), assigned.epoch());
      }
      HR_RETURN_IF_ERROR(job->epoch->Assign(assigned));
      task_jobs_[TaskId(assigned.task())] = job->id;
      last_task_ = std::max(last_task_, assigned.task());
      return absl::OkStatus();
    }
    case v1::Event::kLeasesGranted: {
      Epoch* epoch = EpochOf(TaskId(event.leases_granted().task()));
      if (epoch == nullptr)
        return FailedPrecondition("task {} is over", event.leases_granted().task());
      HR_RETURN_IF_ERROR(epoch->Grant(event.leases_granted()));
      if (const auto& granted = event.leases_granted(); granted.splits_size() != 0) {
        const uint64_t last = granted.first_number() + static_cast<uint64_t>(granted.splits_size());
        last_lease_ = std::max(last_lease_, last - 1);
      }
      return absl::OkStatus();
    }
    case v1::Event::kSplitsReported:
      Report(event.splits_reported());
      return absl::OkStatus();
    case v1::Event::kRunsDelivered:
      return Deliver(event.runs_delivered());
    case v1::Event::kStepsGranted: {
      Job* job = jobs_.Find(JobId(event.steps_granted().job()));
      if (job != nullptr && job->epoch.has_value() &&
          job->epoch->number() == event.steps_granted().epoch()) {
        job->epoch->GrantSteps(event.steps_granted());
      }
      return absl::OkStatus();
    }
    case v1::Event::kTasksFenced:
      Fence(event.tasks_fenced());
      return absl::OkStatus();
    default: {
      const v1::FenceConfirmed& confirmed = event.fence_confirmed();
      Job* job = FindJobOf(ClientId(confirmed.client()));
      if (job == nullptr || !job->epoch.has_value()) return absl::OkStatus();
      std::vector<TaskId> tasks;
      for (const uint64_t task : confirmed.tasks()) tasks.emplace_back(task);
      job->epoch->Confirm(ClientId(confirmed.client()), tasks);
      return absl::OkStatus();
    }
  }
}

absl::Status State::Join(const v1::ClientJoined& event) {
  Job* job = jobs_.Find(JobId(event.job()));
  if (job == nullptr) return NotFound("no job {}", event.job());
  const uint64_t first = job->epoch.has_value() ? job->epoch->number() : job->next_epoch;
  HR_RETURN_IF_ERROR(clients_.Join(event, first));
  job->clients.insert(ClientId(event.client()));
  last_client_ = std::max(last_client_, event.client());
  return absl::OkStatus();
}

absl::Status State::Leave(const v1::ClientGone& event) {
  const ClientId id(event.client());
  const Client* client = clients_.Find(id);
  if (client == nullptr) return NotFound("no client {}", event.client());
  if (Job* job = jobs_.Find(client->job)) {
    job->clients.erase(id);
    if (event.lost() && job->epoch.has_value() && job->epoch->readers().contains(id)) {
      job->warnings.push_back(fmt::format(
          "epoch {}: client {} (rank {}) was lost and its share given to others; what it was "
          "handed within its last report interval may have come twice",
          job->epoch->number(), id.value, client->rank));
      if (job->warnings.size() > Job::kKeptWarnings) job->warnings.erase(job->warnings.begin());
    }
    if (job->epoch.has_value()) {
      // As in FenceTasks: a replay of counting steps needs the whole lane.
      const bool give_up = event.lost() && job->dataset != nullptr && !job->dataset->single_task &&
                           job->options.visitation() == v1::VISITATION_AT_MOST_ONCE;
      job->epoch->Leave(id, give_up);
    }
  }
  return clients_.Leave(id);
}

absl::Status State::StartEpoch(const v1::EpochStarted& event) {
  Job* job = jobs_.Find(JobId(event.job()));
  if (job == nullptr || job->ended) return NotFound("no running job {}", event.job());
  if (job->epoch.has_value() || event.epoch() < job->next_epoch) {
    return FailedPrecondition("job {}: epoch {} cannot start", event.job(), event.epoch());
  }
  job->epoch.emplace(event, job->dataset, job->options.world_size());
  job->next_epoch = event.epoch() + 1;
  if (job->restored == nullptr) return absl::OkStatus();
  if (job->restored->epoch() != event.epoch()) {
    job->restored = nullptr;  // a later one was asked for
    return absl::OkStatus();
  }
  DeliveredSet delivered;
  HR_RETURN_IF_ERROR(delivered.Merge(job->restored->delivered()));
  job->epoch->Restore(delivered);
  return absl::OkStatus();
}

absl::Status State::Restore(const v1::JobRestored& event) {
  Job* job = jobs_.Find(JobId(event.job()));
  if (job == nullptr || job->ended) return NotFound("no running job {}", event.job());
  if (job->epoch.has_value()) {
    ForgetTasks(*job->epoch);
    job->epoch.reset();
  }
  job->incarnation = event.incarnation();
  job->next_epoch = event.epoch();
  job->finished.erase(job->finished.lower_bound(event.epoch()), job->finished.end());
  job->restored_epoch = event.epoch();
  job->members.clear();
  for (const uint64_t client : event.clients()) {
    job->members.emplace_back(client);
    clients_.Restart(ClientId(client), event.epoch());
    if (const Client* found = clients_.Find(ClientId(client))) {
      job->options.set_world_size(found->world_size);
    }
  }
  job->restored = std::make_shared<const v1::JobRestored>(event);
  return absl::OkStatus();
}

absl::Status State::FinishEpoch(const v1::EpochFinished& event) {
  Job* job = jobs_.Find(JobId(event.job()));
  if (job == nullptr || !job->epoch.has_value() || job->epoch->number() != event.epoch()) {
    return FailedPrecondition("job {} does not run epoch {}", event.job(), event.epoch());
  }
  ForgetTasks(*job->epoch);
  job->finished[event.epoch()] = {job->epoch->Summary(), event.abandoned(), job->epoch->counts()};
  if (job->finished.size() > Job::kKeptEpochs) job->finished.erase(job->finished.begin());
  const EpochCounts& counts = job->epoch->counts();
  job->past.delivered += counts.delivered;
  job->past.restored += counts.restored;
  job->past.skipped += counts.skipped;
  job->past.settled += counts.settled;
  job->past.failed += counts.failed;
  job->past.given_up += counts.given_up;
  job->past.retired += counts.retired;
  job->past.pieces += counts.pieces;
  job->epoch.reset();
  job->restored = nullptr;
  return absl::OkStatus();
}

absl::Status State::Enter(const v1::EpochEntered& event) {
  const ClientId id(event.client());
  HR_RETURN_IF_ERROR(clients_.Enter(id, event.epoch()));
  Job* job = jobs_.Find(clients_.Find(id)->job);
  // An epoch that others finished already is entered in name only.
  if (job == nullptr || !job->epoch.has_value() || job->epoch->number() != event.epoch()) {
    return absl::OkStatus();
  }
  return job->epoch->Enter(id);
}

void State::Report(const v1::SplitsReported& event) {
  for (const v1::SplitReport& report : event.splits()) {
    if (Epoch* epoch = EpochOf(TaskId(report.task()))) {
      epoch->Report(WorkerId(event.worker()), report);
    }
  }
}

absl::Status State::Deliver(const v1::RunsDelivered& event) {
  Job* job = FindJobOf(ClientId(event.client()));
  if (job == nullptr) return NotFound("no client {}", event.client());
  if (!job->epoch.has_value() || job->epoch->number() != event.epoch()) return absl::OkStatus();
  for (const v1::TaskRuns& runs : event.delivered()) {
    job->epoch->Deliver(ClientId(event.client()), runs);
  }
  if (event.delivered_size() != 0) {
    job->epoch->NoteReport(clients_.Find(ClientId(event.client()))->rank);
  }
  for (const v1::TaskRuns& runs : event.dropped()) {
    if (runs.task() == 0) {
      job->epoch->Pass(clients_.Find(ClientId(event.client()))->rank, runs);
      continue;
    }
    job->epoch->Drop(ClientId(event.client()), runs);
  }
  return absl::OkStatus();
}

void State::Fence(const v1::TasksFenced& event) {
  // Tasks of several jobs may be in one event; each epoch takes its own.
  std::map<JobId, v1::TasksFenced> by_job;
  for (const uint64_t task : event.tasks()) {
    const auto it = task_jobs_.find(TaskId(task));
    if (it == task_jobs_.end()) continue;
    v1::TasksFenced& part = by_job[it->second];
    if (part.tasks().empty()) {
      part = event;
      part.clear_tasks();
    }
    part.add_tasks(task);
  }
  for (const auto& [job, part] : by_job) jobs_.Find(job)->epoch->Fence(part);
}

Epoch* State::EpochOf(TaskId task) {
  const auto it = task_jobs_.find(task);
  if (it == task_jobs_.end()) return nullptr;
  Job* job = jobs_.Find(it->second);
  return job == nullptr || !job->epoch.has_value() ? nullptr : &*job->epoch;
}

void State::ForgetTasks(const Epoch& epoch) {
  for (const auto& [id, task] : epoch.tasks()) task_jobs_.erase(id);
}

Job* State::FindJobOf(ClientId client) {
  const Client* found = clients_.Find(client);
  return found == nullptr ? nullptr : jobs_.Find(found->job);
}

const Job* State::JobOf(ClientId client) const {
  const Client* found = clients_.Find(client);
  return found == nullptr ? nullptr : jobs_.Find(found->job);
}

const Job* State::JobOf(TaskId task) const {
  const auto it = task_jobs_.find(task);
  return it == task_jobs_.end() ? nullptr : jobs_.Find(it->second);
}

}  // namespace headrace::dispatch
