#include "dispatcher/ops/shed.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "common/logging/logging.h"
#include "dispatcher/ops/progress.h"
#include "fmt/core.h"

namespace headrace::dispatch {
namespace {

// Whoever has not given anything up for so long after being asked has nothing to give up, and is
// not asked again for a while.
constexpr absl::Duration kAnswer = absl::Milliseconds(300);
constexpr absl::Duration kAgain = absl::Seconds(1);
// Steps do not hold what they have for longer, whatever others may still give up.
constexpr absl::Duration kLongestWait = absl::Seconds(1);
constexpr uint32_t kMostDoublings = 10;

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

// Rows that the task's steps took in and gave out so far, by what its worker told last.
uint64_t Made(const OpContext& context, TaskId task) {
  const auto stats = context.telemetry.stats.find(task);
  if (stats == context.telemetry.stats.end()) return 0;
  uint64_t rows = 0;
  for (const v1::StepStats& step : stats->second.steps()) rows += step.rows_in() + step.rows_out();
  return rows;
}

// It has splits that it has not read, no batch that nobody fetches, and others have nothing at all.
bool StandsStill(const OpContext& context, const Job& job, const Task& task) {
  const Epoch& epoch = *job.epoch;
  if (!Sheds(context, job, task) || !HasUnread(epoch, task)) return false;
  if (epoch.lanes()[task.lane].has_pending()) return false;
  const auto stats = context.telemetry.stats.find(task.id);
  if (stats != context.telemetry.stats.end() && stats->second.queued_bytes() > 0) return false;
  return std::ranges::any_of(Others(epoch, task),
                             [&](const Task* other) { return IsIdle(context, epoch, *other); });
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

bool WasStuck(const OpContext& context, const Job& job, WorkerId worker) {
  const auto stuck = context.stragglers.stuck.find(job.id);
  return stuck != context.stragglers.stuck.end() && job.epoch.has_value() &&
         stuck->second.epoch == job.epoch->number() && stuck->second.workers.contains(worker);
}

void GiveOutStuck(OpContext& context, JobId id) {
  const Job* job = context.state().jobs().Find(id);
  if (job == nullptr || !job->epoch.has_value() || job->epoch->Complete()) return;
  // At most once: what is taken away would be lost.
  if (job->options.visitation() == v1::VISITATION_AT_MOST_ONCE) return;
  if (context.config.speculate_after <= absl::ZeroDuration()) return;
  const Epoch& epoch = *job->epoch;
  Stragglers::Stuck& stuck = context.stragglers.stuck[id];
  if (stuck.epoch != epoch.number()) stuck = {.epoch = epoch.number(), .times = 0, .workers = {}};
  // Twice as long each time: a step that takes that long anywhere is not begun for ever anew.
  const absl::Duration patience = context.config.speculate_after * (int64_t{1} << stuck.times);
  for (const TaskId task_id : epoch.ActiveTasks()) {
    const Task& task = *epoch.FindTask(task_id);
    Stragglers::Seen& seen = context.stragglers.tasks[task_id];
    const uint64_t made = Made(context, task_id);
    if (made != std::exchange(seen.made, made) || !StandsStill(context, *job, task)) {
      seen.still.reset();
      continue;
    }
    if (!seen.still.has_value()) seen.still = context.now;
    if (context.now - *seen.still < patience) continue;
    stuck.times = std::min(stuck.times + 1, kMostDoublings);
    stuck.workers.insert(task.worker);
    LogWarning(
        "job '{}': epoch {}: worker {} has made nothing of its splits for {} while others have "
        "none left; they are given out again",
        job->name, epoch.number(), task.worker.value, absl::FormatDuration(patience));
    FenceTasks(context, *job, {task_id}, v1::FENCE_CAUSE_WORKER_GONE,
               fmt::format("worker {} has made nothing of its splits for {}", task.worker.value,
                           absl::FormatDuration(patience)));
    return AssignTasks(context, id);  // one at a time: the epoch has changed
  }
}

void CollectStragglers(OpContext& context) {
  absl::erase_if(context.stragglers.stuck, [&](const auto& entry) {
    const Job* job = context.state().jobs().Find(entry.first);
    return job == nullptr || !job->epoch.has_value();
  });
  absl::erase_if(context.stragglers.tasks, [&](const auto& entry) {
    const Job* job = context.state().JobOf(entry.first);
    return job == nullptr || job->epoch->FindActiveTask(entry.first) == nullptr;
  });
}

}  // namespace headrace::dispatch
