#include "worker/task_host.h"

#include <utility>

#include "common/logging/logging.h"
#include "common/status.h"
#include "worker/output_router.h"

namespace headrace {

TaskHost::TaskHost(const v1::TaskDef& def, uint64_t worker, TaskWakers wakers)
    : def_(def), wakers_(std::move(wakers)), puller_(worker, def.task()) {}

absl::StatusOr<std::unique_ptr<TaskHost>> TaskHost::Create(const v1::TaskDef& def, uint64_t worker,
                                                           const TaskFactory& factory,
                                                           TaskWakers wakers) {
  std::unique_ptr<TaskHost> host(new TaskHost(def, worker, std::move(wakers)));
  TaskCallbacks callbacks;
  callbacks.on_output = [h = host.get()] { h->NotePump(); };
  callbacks.on_want_leases = host->wakers_.leases;
  callbacks.on_report = host->wakers_.beat;
  callbacks.on_failed = host->wakers_.beat;
  HR_ASSIGN_OR_RETURN(TaskFactory::Made made, factory.Make(def, std::move(callbacks)));
  if (def.has_ordered()) {
    auto router = std::make_unique<OrderedRouter>(def.task(), def.epoch(), def.ordered());
    host->ordered_ = router.get();
    host->router_ = std::move(router);
  } else {
    host->router_ = std::make_unique<OutputRouter>(def.task(), def.epoch(), made.batched);
  }
  host->task_ = std::move(made.task);
  host->cache_ = std::move(made.cache);
  return host;
}

TaskHost::~TaskHost() {
  // The engine first: its callbacks use this object.
  task_.reset();
  if (router_) router_->FinishAll();
}

bool TaskHost::PullLeases(WorkerCalls& dispatcher, absl::Duration now, absl::Duration timeout) {
  std::optional<v1::LeaseSplitsRequest> request;
  {
    absl::MutexLock lock(&lease_mutex_);
    request = puller_.Next(static_cast<uint32_t>(task_->LeasesWanted()), now);
    if (!request) return false;  // the loop comes by again before a retry is due
    request->set_cluster(def_.cluster());
  }
  if (request->tells_cached() && cache_ != nullptr) {
    const std::vector<uint32_t> held = cache_->Held();
    request->mutable_cached_splits()->Assign(held.begin(), held.end());
  }
  const absl::StatusOr<v1::LeaseSplitsReply> reply = dispatcher.LeaseSplits(*request, timeout);
  LeasePuller::Answer answer;
  {
    absl::MutexLock lock(&lease_mutex_);
    if (!reply.ok()) {
      puller_.OnFailure(request->request_number(), now);
      return false;
    }
    answer = puller_.OnReply(request->request_number(), *reply, now);
  }
  AddLeases(answer.leases);
  if (answer.flush && ordered_ == nullptr) task_->NoMoreLeases();
  return !answer.leases.empty() && !answer.flush && task_->LeasesWanted() > 0;
}

void TaskHost::AddLeases(const std::vector<v1::Lease>& leases) {
  for (const v1::Lease& lease : leases) {
    if (ordered_ != nullptr && !in_window_) {
      ordered_->BeginWindow(lease.window());
      NotePump();  // `take: 0` has its end before it has a lease
    }
    in_window_ = !lease.ends_window();
    if (absl::Status status = task_->AddLease(lease); !status.ok()) {
      absl::MutexLock lock(&error_mutex_);
      error_.Update(status);
    }
    // Steps let go of what they hold at a window's end, and there alone.
    if (ordered_ != nullptr && lease.ends_window()) task_->NoMoreLeases();
  }
}

void TaskHost::WakeLeases() {
  {
    absl::MutexLock lock(&lease_mutex_);
    puller_.Wake();
  }
  wakers_.leases();
}

void TaskHost::Pump() {
  const absl::Status status = router_->Pump(task_->output());
  if (status.ok()) return;
  {
    absl::MutexLock lock(&error_mutex_);
    error_.Update(status);
  }
  wakers_.beat();
}

void TaskHost::AddStream(std::shared_ptr<FrameStream> stream) {
  router_->Add(std::move(stream));
  NotePump();
}

void TaskHost::RemoveStream(const FrameStream* stream) { router_->Remove(stream); }

void TaskHost::Collect(ReportLog& log) {
  for (v1::SplitReport& report : task_->TakeReports()) {
    report.set_task(id());
    log.Add(std::move(report));
  }
  absl::Status status = task_->status();
  absl::MutexLock lock(&error_mutex_);
  if (status.ok()) status = error_;
  if (status.ok() || error_reported_) return;
  error_reported_ = true;
  LogWarning("task {} of job {}: {}", id(), def_.job(), OneLine(status));
  v1::TaskError error;
  error.set_task(id());
  error.set_code(static_cast<uint32_t>(status.code()));
  error.set_message(std::string(status.message()));
  log.Add(std::move(error));
}

v1::TaskStats TaskHost::Stats() const {
  v1::TaskStats stats = task_->Stats();
  stats.set_task(id());
  return stats;
}

LoadMeter::TaskLoad TaskHost::Load() const {
  LoadMeter::TaskLoad load;
  load.task = id();
  load.busy_seconds = static_cast<double>(task_->busy_nanos()) * 1e-9;
  const v1::TaskStats stats = task_->Stats();
  for (const v1::StepStats& step : stats.steps()) load.cpu_seconds += step.cpu_seconds();
  load.output_bytes = task_->output().bytes();
  return load;
}

bool TaskHost::Idle() const { return task_->Idle(); }

}  // namespace headrace
