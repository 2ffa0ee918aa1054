// What several ops and duties do to keep a job going. All idempotent: called when nothing is to be
// done they change nothing.
#pragma once

#include <string>
#include <string_view>

#include "dispatcher/context/op_context.h"

namespace headrace::dispatch {

// Gives tasks of the running epoch to workers that should have one, by the job's sharding policy.
// Nothing while no client reads.
void AssignTasks(OpContext& context, JobId job);
// Ordered: takes lanes from workers that have more than others (workers came), for AssignTasks to
// place anew.
void MoveLanes(OpContext& context, JobId job);
// Ends the running epoch when nothing of it is still to come.
void FinishEpochIfComplete(OpContext& context, JobId job);
// The job is over for all: code 0 when it simply finished.
void EndJob(OpContext& context, JobId job, absl::StatusCode code, std::string message);

// Fences active tasks of one job; others are left out. `unreported_client`: a client is lost that
// may have delivered without a word.
void FenceTasks(OpContext& context, const Job& job, const std::vector<TaskId>& tasks,
                v1::FenceCause cause, std::string reason, bool unreported_client = false);
// The worker is gone: fences its tasks in all jobs and gives their work to others.
void RemoveWorker(OpContext& context, WorkerId worker, bool lost, std::string_view reason);
// The client is gone, and what was sent to it and not delivered must go to others: fences all tasks
// of its epoch.
void RemoveClient(OpContext& context, ClientId client, bool lost);

// Readers of the running epoch that are silent and waited for (Job::WaitsForLostClients).
std::vector<ClientId> SilentReaders(OpContext& context, const Job& job);
// Why nothing moves, for people: "waiting for workers: none is registered". Empty when something
// does.
std::string WaitingReason(OpContext& context, const Job& job);
// What a client of an earlier life of the job is told.
std::string ReplacedMessage(const Job& job);
// When a client, or a worker of the job, should beat next.
absl::Duration ClientBeatPeriod(const DispatcherConfig& config, const Job& job);
absl::Duration WorkerBeatPeriod(const OpContext& context, WorkerId worker);

}  // namespace headrace::dispatch
