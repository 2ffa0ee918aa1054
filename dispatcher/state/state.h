// All that the dispatcher must not forget. Apply(Event) is the only way to change it: pure and
// deterministic, without clock, files or randomness, so that a replayed journal gives the same
// state. Owned by the dispatcher's service, which guards it with its mutex; the simulation owns one
// without threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "dispatcher/state/client_table.h"
#include "dispatcher/state/job_table.h"
#include "dispatcher/state/snapshot.h"
#include "dispatcher/state/worker_table.h"
#include "headrace/v1/journal.pb.h"

namespace headrace::dispatch {

class State {
 public:
  // A non-OK status means that the event does not fit this state: a bug, or a journal of another
  // origin.
  absl::Status Apply(const v1::Event& event);

  // A snapshot of all of it; its chunks, in order, make a State that nothing was applied to
  // the same (state_snapshot.cc). Reload fails with INVALID_ARGUMENT for what is no chunk, or one
  // out of its order; the State is of no use then.
  std::unique_ptr<Snapshot> TakeSnapshot() const;
  absl::Status Reload(std::string_view chunk);

  const JobTable& jobs() const { return jobs_; }
  const WorkerTable& workers() const { return workers_; }
  const ClientTable& clients() const { return clients_; }

  // The job of a client; null when the client is not known.
  const Job* JobOf(ClientId client) const;
  // The job whose running epoch has the task (fenced or not); null when it is over.
  const Job* JobOf(TaskId task) const;

  // The journal's life that all ids belong to; 0 before its first event.
  uint64_t cluster() const { return cluster_; }
  // For the next event of each kind.
  JobId next_job() const { return JobId(last_job_ + 1); }
  ClientId next_client() const { return ClientId(last_client_ + 1); }
  WorkerId next_worker() const { return WorkerId(last_worker_ + 1); }
  TaskId next_task() const { return TaskId(last_task_ + 1); }
  LeaseNumber next_lease() const { return LeaseNumber(last_lease_ + 1); }

  // Everything that matters, as text: equal states have equal dumps.
  std::string Dump() const;

 private:
  absl::Status ApplyJobEvent(const v1::Event& event);
  absl::Status ApplyEpochEvent(const v1::Event& event);
  absl::Status ApplyWorkerEvent(const v1::Event& event);
  absl::Status Join(const v1::ClientJoined& event);
  absl::Status Leave(const v1::ClientGone& event);
  absl::Status StartEpoch(const v1::EpochStarted& event);
  absl::Status FinishEpoch(const v1::EpochFinished& event);
  absl::Status Restore(const v1::JobRestored& event);
  absl::Status Enter(const v1::EpochEntered& event);
  void Report(const v1::SplitsReported& event);
  absl::Status Deliver(const v1::RunsDelivered& event);
  void Fence(const v1::TasksFenced& event);
  Epoch* EpochOf(TaskId task);
  Job* FindJobOf(ClientId client);
  void ForgetTasks(const Epoch& epoch);
  absl::Status ReloadPart(const v1::StatePart& part);
  absl::Status ReloadJobPart(const v1::StatePart& part, Job& job);

  JobTable jobs_;
  WorkerTable workers_;
  ClientTable clients_;
  absl::flat_hash_map<TaskId, JobId> task_jobs_;  // of running epochs: reports name tasks alone
  // Of the job that is about to open; nothing between calls.
  SplitList listed_;
  // While reloading: the job that parts belong to.
  Job* reloading_ = nullptr;
  uint64_t cluster_ = 0;
  uint64_t last_job_ = 0;
  uint64_t last_client_ = 0;
  uint64_t last_worker_ = 0;
  uint64_t last_task_ = 0;
  uint64_t last_lease_ = 0;
};

}  // namespace headrace::dispatch
