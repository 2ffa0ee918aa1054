// What workers do: lease, read, send, report, die, come back.
#include <algorithm>
#include <bit>

#include "tests/model/rules.h"

namespace headrace::model {
namespace {

// A task asks for one split at a time, and for the next while it reads one.
constexpr size_t kReadAhead = 2;

bool MayLease(const RunningTask& task) {
  return task.unanswered || (!task.exhausted && task.lent.size() < kReadAhead);
}

}  // namespace

void Rules::EnabledOfWorker(const Node& node, uint8_t w, std::vector<Action>& out) const {
  const WorkerNow& worker = node.workers[w];
  const dispatch::Worker* known = (*node.dispatcher)->workers().Find(WorkerId(worker.id));
  const bool thought_alive = known != nullptr && known->live();
  if (!worker.alive) {
    if (thought_alive) out.push_back({Step::kWorkerLost, w});
    out.push_back({Step::kWorkerComesBack, w});
    return;
  }
  out.push_back({Step::kWorkerBeat, w});
  if (node.left.worker_deaths != 0) out.push_back({Step::kWorkerDies, w});
  if (node.left.false_alarms != 0 && thought_alive) out.push_back({Step::kFalseAlarm, w});
  if (node.left.lost_answers != 0) out.push_back({Step::kWorkerAnswerLost, w});
  if (node.left.late_calls != 0) out.push_back({Step::kLateWorkerBeat, w});
  for (uint8_t t = 0; t < worker.tasks.size(); ++t) {
    const RunningTask& task = worker.tasks[t];
    if (MayLease(task)) {
      out.push_back({Step::kLease, w, t});
      if (node.left.lost_answers != 0) out.push_back({Step::kLeaseAnswerLost, w, t});
      if (node.left.late_calls != 0) out.push_back({Step::kLateLease, w, t});
    }
    const bool sends = !task.lent.empty();
    const bool flushes = task.lent.empty() && task.exhausted && task.held != 0;
    if (!sends && !flushes) continue;
    const Step step = sends ? Step::kRead : Step::kFlush;
    for (uint8_t c = 0; c < node.clients.size(); ++c) {
      const ClientNow& client = node.clients[c];
      if (client.phase == Phase::kReading && (client.known & ~client.cut) >> task.task & 1) {
        out.push_back({step, w, t, c});
      }
    }
  }
}

void Rules::WorkerStep(Node& node, Action action) const {
  WorkerNow& worker = node.workers[action.a];
  switch (action.step) {
    case Step::kLease:
      return Lease(node, worker, worker.tasks[action.b], true);
    case Step::kLeaseAnswerLost:
      --node.left.lost_answers;
      return Lease(node, worker, worker.tasks[action.b], false);
    case Step::kLateLease:
      --node.left.late_calls;
      node.late.push_back({nullptr, nullptr,
                           std::make_shared<const v1::LeaseSplitsRequest>(
                               LeaseOf(worker, worker.tasks[action.b]))});
      return;
    case Step::kRead:
      return Read(node, worker, worker.tasks[action.b], action.c);
    case Step::kFlush:
      return Send(node, worker.tasks[action.b], action.c);
    case Step::kWorkerBeat:
      return WorkerBeat(node, action.a, true);
    case Step::kWorkerAnswerLost:
      --node.left.lost_answers;
      return WorkerBeat(node, action.a, false);
    case Step::kLateWorkerBeat:
      --node.left.late_calls;
      node.late.push_back(
          {nullptr, std::make_shared<const v1::WorkerBeatRequest>(BeatOf(worker)), nullptr});
      return;
    case Step::kWorkerComesBack:
      return ComeBack(node, action.a);
    case Step::kWorkerDies:
      --node.left.worker_deaths;
      worker.alive = false;
      worker.tasks.clear();
      worker.told.clear();
      return;
    case Step::kFalseAlarm:
      --node.left.false_alarms;
      return calls_.ExpireWorker(node, worker.id);
    default:
      return calls_.ExpireWorker(node, worker.id);
  }
}

v1::LeaseSplitsRequest Rules::LeaseOf(const WorkerNow& worker, RunningTask& task) const {
  if (!task.unanswered) ++task.request;
  task.unanswered = true;
  v1::LeaseSplitsRequest request;
  request.set_worker(worker.id);
  request.set_task(task.task);
  request.set_request_number(task.request);
  request.set_want(1);
  return request;
}

void Rules::Lease(Node& node, WorkerNow& worker, RunningTask& task, bool answered) const {
  const v1::LeaseSplitsReply reply = calls_.Lease(node, LeaseOf(worker, task));
  if (!answered || reply.wait()) return;  // asks again under the same number
  task.unanswered = false;
  if (reply.unknown_task()) {
    worker.tasks.erase(&task);
    return;
  }
  task.exhausted = reply.exhausted();
  for (const v1::Lease& lease : reply.leases()) {
    Lent lent;
    lent.number = lease.number();
    lent.split = static_cast<uint8_t>(lease.split().id());
    lent.todo = ((Elements{1} << bound_.records) - 1) << (lent.split * bound_.records);
    if (bound_.mutation != Mutation::kNoSkipSets) lent.todo &= ~ElementsOf(bound_, lease.skip());
    task.lent.push_back(lent);
  }
  EndOfSplits(worker, task);
}

void Rules::EndOfSplits(WorkerNow& worker, RunningTask& task) const {
  while (!task.lent.empty() && task.lent.front().todo == 0) {
    const Lent& lent = task.lent.front();
    worker.told.push_back({lent.number, task.task, lent.split, true, 0});
    task.lent.erase(task.lent.begin());
  }
}

void Rules::Read(Node& node, WorkerNow& worker, RunningTask& task, uint8_t client) const {
  Lent& lent = task.lent.front();
  const uint32_t element = static_cast<uint32_t>(std::countr_zero(lent.todo));
  lent.todo &= lent.todo - 1;
  if (bound_.filtered(element % bound_.records)) {
    worker.told.push_back({lent.number, task.task, lent.split, false, Elements{1} << element});
  } else {
    task.held |= Elements{1} << element;
    if (static_cast<uint32_t>(std::popcount(task.held)) >= bound_.batch) {
      Send(node, task, client);
    }
  }
  EndOfSplits(worker, task);
}

void Rules::Send(Node& node, RunningTask& task, uint8_t c) const {
  ClientNow& client = node.clients[c];
  const bool dropped =
      (client.fenced >> task.task & 1) != 0 && bound_.mutation != Mutation::kFencedFramesKept;
  if (!dropped) client.coming.push_back({task.task, task.held});
  task.held = 0;
}

v1::WorkerBeatRequest Rules::BeatOf(const WorkerNow& worker) const {
  v1::WorkerBeatRequest request;
  request.set_worker(worker.id);
  request.set_worker_uid(worker.uid);
  for (const RunningTask& task : worker.tasks) request.add_running_tasks(task.task);
  for (const Told& told : worker.told) {
    v1::SplitReport& report = *request.add_splits();
    report.set_task(told.task);
    report.set_lease(told.lease);
    report.set_split(told.split);
    report.set_read_to_end(told.end);
    report.set_records(told.end ? bound_.records : 0);
    AddRuns(bound_, told.settled, report.mutable_settled());
  }
  return request;
}

void Rules::WorkerBeat(Node& node, size_t w, bool answered) const {
  WorkerNow& worker = node.workers[w];
  if (!answered && bound_.mutation == Mutation::kReportsForgotten) {
    worker.told.clear();  // the call was lost, and is not made again
    return;
  }
  const v1::WorkerBeatReply reply = calls_.WorkerBeat(node, BeatOf(worker));
  if (!answered) return;
  worker.told.clear();
  if (reply.unknown_worker()) {
    worker.tasks.clear();
    return calls_.Register(node, w);
  }
  for (const v1::TaskDef& def : reply.start()) {
    RunningTask task;
    task.task = static_cast<uint8_t>(def.task());
    worker.tasks.push_back(task);
  }
  for (const uint64_t stop : reply.stop()) {
    EraseIf(worker.tasks, [stop](const RunningTask& task) { return task.task == stop; });
  }
  for (RunningTask& task : worker.tasks) {
    if (std::ranges::count(reply.wake(), task.task) != 0) task.exhausted = false;
  }
}

void Rules::ComeBack(Node& node, size_t w) const {
  node.workers[w].alive = true;
  node.workers[w].uid = ++node.uids;
  calls_.Register(node, w);
}

}  // namespace headrace::model
