// LeaseSplits: splits for a task, ahead of its need. Idempotent by (task, request_number): the last
// answer is kept.
#include <algorithm>
#include <utility>

#include "dispatcher/ops/cluster.h"
#include "dispatcher/ops/locality.h"
#include "dispatcher/ops/ops.h"
#include "dispatcher/ops/progress.h"
#include "dispatcher/ops/shed.h"

namespace headrace::dispatch {
namespace {

// Near the end of a shared lane nobody gets more than his part of what is left, or one worker would
// end up with the epoch's tail.
size_t FairShare(const Epoch& epoch, const Lane& lane) {
  if (!lane.def().shared()) return lane.pending();
  const size_t tasks = std::max<size_t>(1, epoch.active_tasks());
  return (lane.pending() + tasks - 1) / tasks;
}

void Grant(OpContext& context, const Task& task, uint64_t request_number,
           const std::vector<Piece>& items) {
  v1::Event event;
  v1::LeasesGranted& granted = *event.mutable_leases_granted();
  granted.set_task(task.id.value);
  granted.set_request_number(request_number);
  granted.set_exhausted(items.empty());
  granted.set_first_number(context.state().next_lease().value);
  const Lane& lane = context.state().JobOf(task.id)->epoch->lanes()[task.lane];
  if (lane.def().has_ordered()) granted.set_first_position(lane.cursor());
  granted.mutable_splits()->Reserve(static_cast<int>(items.size()));
  for (const Piece& item : items) granted.add_splits(item.split);
  if (std::ranges::any_of(items, [](const Piece& item) { return item.pass != 0; })) {
    for (const Piece& item : items) granted.add_passes(item.pass);
  }
  if (!std::ranges::all_of(items, &Piece::whole)) {
    for (const Piece& item : items) {
      granted.add_first_records(item.first);
      granted.add_end_records(item.end);
    }
  }
  context.changes.Make(std::move(event));
}

void FillAnswer(const Job& job, const Task& task, v1::LeaseSplitsReply& reply) {
  for (const LeaseNumber number : task.last_answer) {
    const Lease* lease = job.epoch->leases().Find(number);
    if (lease == nullptr) continue;  // retired: the answer was used long ago
    v1::Lease* out = reply.add_leases();
    out->set_number(number.value);
    *out->mutable_split() = job.dataset->splits[lease->item.split];
    out->set_pass(lease->item.pass);
    out->set_first_record(lease->item.first);
    if (lease->item.end != Piece::kToEnd) out->set_end_record(lease->item.end);
    const Lane& lane = job.epoch->lanes()[lease->lane];
    if (lane.def().has_ordered()) {  // made as a whole, whatever is done of it
      out->set_window(lane.WindowOf(lease->position));
      out->set_ends_window(lane.EndsWindow(lease->position));
      continue;
    }
    const SplitLedger* ledger = lane.Find(lease->item);
    if (ledger != nullptr && !ledger->untouched()) {
      ledger->AppendSkip(lease->item.split, lease->item.pass, out->mutable_skip());
    }
  }
  // Whose leases are all retired had some: the task asks on.
  reply.set_exhausted(task.last_answer.empty());
}

}  // namespace

absl::StatusOr<v1::LeaseSplitsReply> LeaseSplits(OpContext& context,
                                                 const v1::LeaseSplitsRequest& request) {
  v1::LeaseSplitsReply reply;
  const TaskId id(request.task());
  const Job* job = context.state().JobOf(id);
  const Task* task = job == nullptr ? nullptr : job->epoch->FindActiveTask(id);
  const Worker* worker = context.state().workers().Find(WorkerId(request.worker()));
  if (task == nullptr || worker == nullptr || task->worker != worker->id || !worker->live() ||
      OfAnotherCluster(context, request.cluster())) {
    reply.set_unknown_task(true);
    return reply;
  }
  context.liveness.Saw(worker->id, context.now);
  reply.set_tell_cached(!TakeHoldings(context, *job, *task, request));
  if (request.request_number() > task->last_request && worker->state == WorkerState::kReady) {
    const Epoch& epoch = *job->epoch;
    const Lane& lane = epoch.lanes()[task->lane];
    const size_t want =
        std::min<size_t>({std::max(1u, request.want()),
                          static_cast<size_t>(context.config.limits.max_leases_per_request),
                          FairShare(epoch, lane)});
    const Choice choice =
        LeavesToIdle(context, *job, *task) ? Choice() : ChoosePieces(context, *job, *task, want);
    if (choice.left_to_others) {
      reply.set_wait(true);
      return reply;
    }
    const std::vector<Piece>& items = choice.pieces;
    if (items.empty() && (lane.has_pending() || ShouldWait(context, *job, *task))) {
      reply.set_wait(true);
      return reply;
    }
    NoteAnswered(context, id, !items.empty());
    // Saying again that there is nothing changes nothing.
    if (!items.empty() || !task->exhausted) Grant(context, *task, request.request_number(), items);
    if (items.empty()) {
      reply.set_exhausted(true);
      return reply;
    }
  }
  if (request.request_number() == task->last_request) {
    FillAnswer(*job, *task, reply);
  } else {
    reply.set_exhausted(true);  // an old request: nobody waits for this answer
  }
  return reply;
}

}  // namespace headrace::dispatch
