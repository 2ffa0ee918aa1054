// One function per RPC of dispatcher.proto, one file each: reads State, makes the events that hold
// the outcome, builds the reply. Called under the service's mutex; no I/O, no waiting, no clock but
// the context's.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "dispatcher/context/op_context.h"
#include "dispatcher/pipeline_resolver.h"
#include "headrace/v1/dispatcher.pb.h"

namespace headrace::dispatch {

// OpenJob in two steps, since files are listed without the mutex. First: the answer when nothing
// has to be resolved (this client joined before, or a running job of that name has the same
// pipeline, word for word); nothing otherwise.
absl::StatusOr<std::optional<v1::OpenJobReply>> OpenKnownJob(OpContext& context,
                                                             const v1::OpenJobRequest& request);
// A dataset's splits as events hold them: at least one piece. Made without the mutex: of millions
// it takes a second.
struct SplitPieces {
  size_t count = 0;  // of splits
  std::deque<v1::SplitColumns> columns;
};
SplitPieces PiecesOf(const SplitList& splits);
// Second. `pieces` are the splits of `resolved`, whose own are not looked at.
absl::StatusOr<v1::OpenJobReply> OpenResolvedJob(OpContext& context,
                                                 const v1::OpenJobRequest& request,
                                                 ResolvedPipeline resolved, SplitPieces pieces);

absl::StatusOr<v1::StartEpochReply> StartEpoch(OpContext& context,
                                               const v1::StartEpochRequest& request);
absl::StatusOr<v1::ClientBeatReply> ClientBeat(OpContext& context,
                                               const v1::ClientBeatRequest& request);
absl::StatusOr<v1::CloseClientReply> CloseClient(OpContext& context,
                                                 const v1::CloseClientRequest& request);

// `states`: those of the request, decoded (saved_states.h).
absl::StatusOr<v1::RestoreJobReply> RestoreJob(
    OpContext& context, const v1::RestoreJobRequest& request,
    std::vector<std::shared_ptr<const SavedState>> states);

absl::StatusOr<v1::RegisterWorkerReply> RegisterWorker(OpContext& context,
                                                       const v1::RegisterWorkerRequest& request);
absl::StatusOr<v1::WorkerBeatReply> WorkerBeat(OpContext& context,
                                               const v1::WorkerBeatRequest& request);
absl::StatusOr<v1::LeaseSplitsReply> LeaseSplits(OpContext& context,
                                                 const v1::LeaseSplitsRequest& request);

absl::StatusOr<v1::ListJobsReply> ListJobs(OpContext& context, const v1::ListJobsRequest& request);
absl::StatusOr<v1::ListWorkersReply> ListWorkers(OpContext& context,
                                                 const v1::ListWorkersRequest& request);
absl::StatusOr<v1::CancelJobReply> CancelJob(OpContext& context,
                                             const v1::CancelJobRequest& request);
absl::StatusOr<v1::DrainWorkerReply> DrainWorker(OpContext& context,
                                                 const v1::DrainWorkerRequest& request);
absl::StatusOr<v1::ReleaseJobReply> ReleaseJob(OpContext& context,
                                               const v1::ReleaseJobRequest& request);

// The addresses of an epoch's active tasks, for clients.
void AppendTasks(const State& state, const Epoch& epoch,
                 google::protobuf::RepeatedPtrField<v1::TaskAddress>* tasks);

}  // namespace headrace::dispatch
