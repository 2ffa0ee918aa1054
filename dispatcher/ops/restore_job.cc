// RestoreJob: readers hand in the states of a checkpoint; when all have, a new life of the job
// begins. Idempotent by client: the one that asks again is answered again.
#include <algorithm>
#include <utility>

#include "common/status.h"
#include "dispatcher/ops/cluster.h"
#include "dispatcher/ops/ops.h"
#include "dispatcher/ops/progress.h"
#include "dispatcher/ops/saved_states.h"

namespace headrace::dispatch {
namespace {

constexpr int kNamedMissing = 8;

uint64_t Mixed(uint64_t a, uint64_t b) {
  uint64_t x = a * 0x9E3779B97F4A7C15ull + b + 0x632BE59BD9B4E019ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return (x ^ (x >> 31)) | 1;
}

// Readers that went while they waited.
void DropSilent(const OpContext& context, PendingRestore& restore) {
  std::erase_if(restore.entries, [&](const auto& entry) {
    return context.now - entry.second.asked > PendingRestore::kPatience ||
           context.state().clients().Find(entry.second.client) == nullptr;
  });
}

// The states of this reader, each the same object as another reader's where they are the same.
absl::Status TakeStates(const Job& job, PendingRestore& restore, PendingRestore::Reader& reader,
                        std::vector<std::shared_ptr<const SavedState>> states) {
  for (std::shared_ptr<const SavedState>& saved : states) {
    HR_RETURN_IF_ERROR(CheckState(job, *saved));
    const std::string bytes = saved->state.SerializeAsString();
    for (const auto& [number, other] : restore.entries) {
      if (&other == &reader) continue;
      for (const auto& theirs : other.states) {
        if (theirs->state.reader() != saved->state.reader()) continue;
        if (theirs->state.SerializeAsString() != bytes) {
          return InvalidArgument(
              "two different states of reader {} were handed in, by readers {} and others: load "
              "one "
              "checkpoint on all ranks",
              saved->state.reader(), number);
        }
        saved = theirs;
        break;
      }
    }
  }
  reader.states = std::move(states);
  return absl::OkStatus();
}

void BeginNewLife(OpContext& context, const Job& job, const PendingRestore& restore,
                  RestoredPosition position) {
  v1::Event event;
  v1::JobRestored& restored = *event.mutable_job_restored();
  restored.set_job(job.id.value);
  restored.set_epoch(position.epoch);
  *restored.mutable_delivered() = std::move(position.delivered);
  if (position.ordered.has_value()) *restored.mutable_ordered() = *std::move(position.ordered);
  uint64_t incarnation = job.incarnation;
  for (const auto& [number, reader] : restore.entries) {
    restored.add_clients(reader.client.value);
    incarnation = Mixed(incarnation, context.state().clients().Find(reader.client)->uid);
  }
  restored.set_incarnation(incarnation);
  context.changes.Make(std::move(event));
  // Of an earlier life: their reports mean nothing any more.
  for (const ClientId client : std::set<ClientId>(job.clients)) {
    if (std::ranges::count(job.members, client) == 0) RemoveClient(context, client, false);
  }
}

absl::StatusOr<v1::RestoreJobReply> Ready(const Job& job, uint32_t reader) {
  v1::RestoreJobReply reply;
  reply.set_ready(true);
  reply.set_incarnation(job.incarnation);
  reply.set_epoch(job.restored_epoch);
  if (job.restored == nullptr) return reply;  // the others are through with that epoch already
  if (job.restored->has_ordered()) *reply.mutable_ordered() = job.restored->ordered();
  DeliveredSet all;
  HR_RETURN_IF_ERROR(all.Merge(job.restored->delivered()));
  *reply.mutable_carried() = all.EncodeShare(reader, job.members.size());
  return reply;
}

}  // namespace

absl::StatusOr<v1::RestoreJobReply> RestoreJob(
    OpContext& context, const v1::RestoreJobRequest& request,
    std::vector<std::shared_ptr<const SavedState>> states) {
  const ClientId id(request.client());
  const Job* job = context.state().JobOf(id);
  if (job == nullptr || job->id.value != request.job() ||
      OfAnotherCluster(context, request.cluster())) {
    return NotFound("client {} is not known; open the job again", id.value);
  }
  if (job->ended) return InvalidArgument("job '{}' is over: {}", job->name, job->end_message);
  context.liveness.Saw(id, context.now);
  const uint32_t number = request.reader();
  if (number >= request.readers() ||
      request.readers() > static_cast<uint64_t>(context.config.limits.max_clients)) {
    return InvalidArgument("reader {} of {}", number, request.readers());
  }
  if (job->Replaced(request.incarnation())) {
    const bool member = number < job->members.size() && job->members[number] == id;
    if (member) return Ready(*job, number);
    return AlreadyExists("job '{}' was restored by other trainers: this one was replaced",
                         job->name);
  }
  PendingRestore& restore = context.restores.pending[job->id];
  DropSilent(context, restore);
  if (restore.readers != request.readers()) restore = {};  // of an earlier try
  restore.readers = request.readers();
  PendingRestore::Reader& reader = restore.entries[number];
  if (reader.client != id) {
    reader = {};
    reader.client = id;
    for (auto& [other, entry] : restore.entries) entry.confirmed = false;
  }
  reader.asked = context.now;
  v1::RestoreJobReply reply;
  if (states.empty() && reader.states.empty()) {
    reply.set_send_states(true);
    return reply;
  }
  if (!states.empty()) {
    if (absl::Status status = TakeStates(*job, restore, reader, std::move(states)); !status.ok()) {
      restore.entries.erase(number);
      return status;
    }
  }
  const auto handed_in = [](const auto& entry) { return !entry.second.states.empty(); };
  if (restore.AllHere() && std::ranges::all_of(restore.entries, handed_in)) {
    reader.confirmed = true;
    const auto confirmed = [](const auto& entry) { return entry.second.confirmed; };
    if (std::ranges::all_of(restore.entries, confirmed)) {
      HR_ASSIGN_OR_RETURN(RestoredPosition position, UniteStates(restore));
      BeginNewLife(context, *job, restore, std::move(position));
      context.restores.pending.erase(job->id);
      return Ready(*job, number);
    }
  }
  for (uint32_t i = 0; i < restore.readers && reply.missing_size() < kNamedMissing; ++i) {
    if (!restore.entries.contains(i)) reply.add_missing(i);
  }
  return reply;
}

}  // namespace headrace::dispatch
