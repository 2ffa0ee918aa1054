// StartEpoch: a rank begins an epoch. Idempotent by (client, epoch).
#include <algorithm>

#include "common/status.h"
#include "dispatcher/ops/cluster.h"
#include "dispatcher/ops/ops.h"
#include "dispatcher/ops/progress.h"
#include "dispatcher/ops/reserved.h"
#include "dispatcher/ops/steps.h"
#include "dispatcher/sharding/policy.h"

namespace headrace::dispatch {
namespace {

absl::Status Abandon(OpContext& context, const Job& job, ClientId client, bool wanted) {
  const Epoch& epoch = *job.epoch;
  const bool alone = std::ranges::all_of(epoch.readers(), [&](ClientId c) { return c == client; });
  if (!wanted || !alone) {
    uint64_t splits = 0;
    for (const Lane& lane : epoch.lanes()) splits += lane.pending() + lane.leased();
    const std::string reason = WaitingReason(context, job);
    return FailedPrecondition(
        "job '{}': epoch {} is not finished ({} splits are left{}{}{})", job.name, epoch.number(),
        splits, wanted ? ", and other clients read it" : "", reason.empty() ? "" : "; ", reason);
  }
  v1::Event event;
  event.mutable_epoch_finished()->set_job(job.id.value);
  event.mutable_epoch_finished()->set_epoch(epoch.number());
  event.mutable_epoch_finished()->set_abandoned(true);
  context.changes.Make(std::move(event));
  return absl::OkStatus();
}

// Which window of a lane a reader needs first.
uint64_t Needed(const v1::StartEpochRequest& request, int lane) {
  return request.has_position() ? request.position().lanes(lane).window() : 0;
}

absl::Status CheckLanes(const Job& job, const v1::StartEpochRequest& request, size_t lanes) {
  if (!request.has_position()) return absl::OkStatus();
  if (!job.dataset->ordered.has_value()) {
    return InvalidArgument("job '{}': only an ordered epoch is begun at a batch", job.name);
  }
  if (static_cast<size_t>(request.position().lanes_size()) == lanes) return absl::OkStatus();
  return InvalidArgument(
      "job '{}': the place to go on from has {} lanes, this job {}; it is of another dataset, or "
      "ordered_lanes differs",
      job.name, request.position().lanes_size(), lanes);
}

// A rank that begins anew in an epoch that runs: it must begin where the others did, and nothing
// that it needs may have been given up.
absl::Status CheckPlace(const Job& job, const Client& client,
                        const v1::StartEpochRequest& request) {
  const Epoch& epoch = *job.epoch;
  HR_RETURN_IF_ERROR(CheckLanes(job, request, epoch.lanes().size()));
  if (!epoch.ordered() || request.continues() || epoch.readers().contains(client.id)) {
    return absl::OkStatus();
  }
  for (size_t i = 0; i < epoch.lanes().size(); ++i) {
    const Lane& lane = epoch.lanes()[i];
    const uint64_t needed = Needed(request, static_cast<int>(i));
    if (needed != lane.def().ordered().first_window()) {
      return InvalidArgument(
          "job '{}': epoch {} runs, and was begun at another batch than this rank's; give all "
          "ranks the same state (load_state_dict)",
          job.name, epoch.number());
    }
    if (needed < lane.first_window() && epoch.HasReported(client.rank)) {
      return InvalidArgument(
          "job '{}': rank {} has read on in epoch {} before, and an ordered epoch cannot go back "
          "by itself; load a checkpoint on all ranks (load_state_dict), or begin the next epoch",
          job.name, client.rank, epoch.number());
    }
  }
  return absl::OkStatus();
}

absl::Status Begin(OpContext& context, const Job& job, uint64_t number,
                   const v1::StartEpochRequest& request) {
  const uint32_t ready = static_cast<uint32_t>(ReadyFor(context.state(), job).size());
  const uint32_t asked = job.options.static_slots();
  const auto policy = MakePolicy(job.options.sharding(), *job.dataset);
  v1::Event event;
  v1::EpochStarted& started = *event.mutable_epoch_started();
  started.set_job(job.id.value);
  started.set_epoch(number);
  started.set_lane_per_worker(policy->lane_per_worker());
  for (v1::LaneDef& lane : policy->Lanes(*job.dataset, std::max(1u, asked != 0 ? asked : ready))) {
    if (lane.has_ordered() && started.lanes_size() < request.position().lanes_size()) {
      lane.mutable_ordered()->set_first_window(Needed(request, started.lanes_size()));
    }
    *started.add_lanes() = std::move(lane);
  }
  HR_RETURN_IF_ERROR(CheckLanes(job, request, static_cast<size_t>(started.lanes_size())));
  context.changes.Make(std::move(event));
  return absl::OkStatus();
}

// Each rank has one reader: they are handed batches in step.
absl::Status CheckPlaces(const State& state, const Job& job, const Client& client) {
  for (const ClientId reader : job.epoch->readers()) {
    if (state.clients().Find(reader)->rank == client.rank) {
      return InvalidArgument(
          "job '{}' is `uneven` other than free: rank {} reads already (client {}), each rank may "
          "have one reader",
          job.name, client.rank, reader.value);
    }
  }
  return absl::OkStatus();
}

void Enter(OpContext& context, ClientId client, uint64_t number) {
  v1::Event event;
  event.mutable_epoch_entered()->set_client(client.value);
  event.mutable_epoch_entered()->set_epoch(number);
  context.changes.Make(std::move(event));
}

}  // namespace

absl::StatusOr<v1::StartEpochReply> StartEpoch(OpContext& context,
                                               const v1::StartEpochRequest& request) {
  const ClientId id(request.client());
  const Client* client = context.state().clients().Find(id);
  if (client == nullptr || OfAnotherCluster(context, request.cluster()))
    return NotFound("client {} is not known; open the job again", id.value);
  const Job& job = *context.state().jobs().Find(client->job);
  if (job.Replaced(request.incarnation())) {
    return NotFound("client {} is of an earlier life of job '{}'", id.value, job.name);
  }
  if (job.ended) {
    return FailedPrecondition("job '{}' is over: {}", job.name, job.end_message);
  }
  if (client->world_size != job.options.world_size()) {
    return AlreadyExists(
        "job '{}' is running and differs: world_size is {} here, {} there. To go on on another "
        "number of ranks, load the states of all ranks that saved on each rank before it iterates "
        "(load_state_dict); to begin anew, end that job first (`headrace cancel {}`), or give this "
        "one another name",
        job.name, client->world_size, job.options.world_size(), job.name);
  }
  context.liveness.Saw(id, context.now);
  const uint64_t number = request.epoch();
  if (number < job.next_epoch && !(job.epoch.has_value() && job.epoch->number() == number)) {
    // Over. Who was there from before its start and never began it has an empty epoch.
    const bool again = client->last_epoch.has_value() && *client->last_epoch >= number;
    const bool theirs = again ? *client->last_epoch == number : number >= client->first_epoch;
    // One that was left out, or is long over, has no summary to answer with.
    if (!theirs || !job.finished.contains(number)) {
      return OutOfRange("job '{}': epoch {} is over; the next one is {}", job.name, number,
                        job.epoch.has_value() ? job.epoch->number() : job.next_epoch);
    }
    if (!again) Enter(context, id, number);
    return v1::StartEpochReply();
  }
  if (job.epoch.has_value() && job.epoch->number() < number) {
    HR_RETURN_IF_ERROR(Abandon(context, job, id, request.abandon_unfinished()));
  }
  if (!job.epoch.has_value()) {
    HR_RETURN_IF_ERROR(Begin(context, job, number, request));
  } else {
    HR_RETURN_IF_ERROR(CheckPlace(job, *client, request));
  }
  if (!job.epoch->readers().contains(id)) {
    if (IsUneven(job)) {
      HR_RETURN_IF_ERROR(CheckPlaces(context.state(), job, *client));
      context.telemetry.steps.erase(id);
    }
    Enter(context, id, number);
  }
  AssignTasks(context, job.id);
  FinishEpochIfComplete(context, job.id);
  v1::StartEpochReply reply;
  if (!job.epoch.has_value()) return reply;
  for (const TaskId task : job.epoch->FencedTasks()) reply.add_fenced_tasks(task.value);
  reply.set_tasks_version(job.epoch->tasks_version());
  AppendTasks(context.state(), *job.epoch, reply.mutable_tasks());
  for (const Lane& lane : job.epoch->lanes()) {
    if (lane.def().has_ordered()) reply.add_lane_windows(lane.windows());
  }
  return reply;
}

}  // namespace headrace::dispatch
