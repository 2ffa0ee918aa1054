#include "dispatcher/ops/shed.h"

#include <algorithm>
#include <vector>

namespace headrace::dispatch {
namespace {

// Whoever has not given anything up for so long after being asked has nothing to give up, and is
// not asked again for a while.
constexpr absl::Duration kAnswer = absl::Milliseconds(300);
constexpr absl::Duration kAgain = absl::Seconds(1);
// Steps do not hold what they have for longer, whatever others may still give up.
constexpr absl::Duration kLongestWait = absl::Seconds(1);

bool HasUnread(const Epoch& epoch, const Task& task) {
  return std::ranges::any_of(task.leases, [&](LeaseNumber number) {
    const Lease* lease = epoch.leases().Find(number);
    return lease != nullptr && !lease->read_to_end;
  });
}

bool Sheds(const OpContext& context, const Job& job, const Task& task) {
  return context.config.shed_after > absl::ZeroDuration() && !job.dataset->single_task &&
         job.epoch->lanes()[task.lane].def().shared();
}

// Active tasks that draw from the same lane, this one left out.
std::vector<const Task*> Others(const Epoch& epoch, const Task& task) {
  std::vector<const Task*> others;
  for (const TaskId id : epoch.ActiveTasks()) {
    const Task* other = epoch.FindTask(id);
    if (id != task.id && other->lane == task.lane) others.push_back(other);
  }
  return others;
}

bool Within(std::optional<absl::Duration> time, absl::Duration bound, absl::Duration now) {
  return time.has_value() && now - *time <= bound;
}

// It has had leases for a while, and some that it has not read.
bool Straggles(OpContext& context, const Epoch& epoch, const Task& task) {
  if (!HasUnread(epoch, task)) return false;
  Stragglers::Seen& seen = context.stragglers.tasks[task.id];
  // A dispatcher that was started anew does not know since when.
  if (!seen.leased.has_value()) seen.leased = context.now;
  return context.now - *seen.leased >= context.config.shed_after;
}

bool IsIdle(const OpContext& context, const Epoch& epoch, const Task& task) {
  const Worker* worker = context.state().workers().Find(task.worker);
  if (worker == nullptr || worker->state != WorkerState::kReady) return false;
  const auto seen = context.stragglers.tasks.find(task.id);
  const bool waits = seen != context.stragglers.tasks.end() && seen->second.waits.has_value();
  return (task.exhausted || waits) && !HasUnread(epoch, task);
}

}  // namespace

void NoteAnswered(OpContext& context, TaskId task, bool leased) {
  Stragglers::Seen& seen = context.stragglers.tasks[task];
  seen.waits.reset();
  if (leased && !seen.leased.has_value()) seen.leased = context.now;
}

bool ShouldWait(OpContext& context, const Job& job, const Task& task) {
  if (task.exhausted || !Sheds(context, job, task)) return false;
  const Epoch& epoch = *job.epoch;
  const std::vector<const Task*> others = Others(epoch, task);
  const bool some = std::ranges::any_of(others, [&](const Task* other) {
    return Straggles(context, epoch, *other) &&
           !Within(context.stragglers.tasks[other->id].declined, kAgain, context.now);
  });
  Stragglers::Seen& seen = context.stragglers.tasks[task.id];
  if (!seen.waits.has_value()) seen.waits = context.now;
  return some && Within(seen.waits, kLongestWait, context.now);
}

bool LeavesToIdle(OpContext& context, const Job& job, const Task& task) {
  const Epoch& epoch = *job.epoch;
  const uint64_t pending = epoch.lanes()[task.lane].pending();
  if (pending > 2 * epoch.active_tasks()) return false;
  if (!Sheds(context, job, task) || !HasUnread(epoch, task)) return false;
  const std::vector<const Task*> others = Others(epoch, task);
  return std::ranges::any_of(others,
                             [&](const Task* other) { return IsIdle(context, epoch, *other); });
}

void FillShed(OpContext& context, WorkerId worker, const v1::WorkerBeatRequest& request,
              v1::WorkerBeatReply& reply) {
  for (const v1::SplitReport& report : request.splits()) {
    if (report.cuts_size() == 0) continue;
    const auto seen = context.stragglers.tasks.find(TaskId(report.task()));
    if (seen != context.stragglers.tasks.end()) seen->second.asked.reset();
  }
  for (const uint64_t running : request.running_tasks()) {
    const TaskId id(running);
    const Job* job = context.state().JobOf(id);
    const Task* task = job == nullptr ? nullptr : job->epoch->FindActiveTask(id);
    if (task == nullptr || task->worker != worker || !Sheds(context, *job, *task)) continue;
    const Epoch& epoch = *job->epoch;
    if (epoch.lanes()[task->lane].has_pending() || !Straggles(context, epoch, *task)) continue;
    size_t idle = 0;
    size_t stragglers = 1;
    for (const Task* other : Others(epoch, *task)) {
      if (IsIdle(context, epoch, *other)) ++idle;
      if (Straggles(context, epoch, *other)) ++stragglers;
    }
    Stragglers::Seen& seen = context.stragglers.tasks[id];
    if (idle == 0 || Within(seen.declined, kAgain, context.now)) continue;
    if (!seen.asked.has_value()) seen.asked = context.now;
    if (!Within(seen.asked, kAnswer, context.now)) {
      seen.asked.reset();
      seen.declined = context.now;
      continue;
    }
    v1::ShedTask& shed = *reply.add_shed();
    shed.set_task(running);
    shed.set_idle(static_cast<uint32_t>((idle + stragglers - 1) / stragglers));
  }
}

void CollectStragglers(OpContext& context) {
  absl::erase_if(context.stragglers.tasks, [&](const auto& entry) {
    const Job* job = context.state().JobOf(entry.first);
    return job == nullptr || job->epoch->FindActiveTask(entry.first) == nullptr;
  });
}

}  // namespace headrace::dispatch
