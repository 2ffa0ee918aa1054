#include "dispatcher/ops/errors.h"

#include <string>

#include "common/status.h"
#include "dispatcher/ops/progress.h"

namespace headrace::dispatch {
namespace {

// A fraction of few records says nothing (proto/pipeline.proto).
constexpr uint64_t kFractionFromRecords = 1000;

std::string FirstSample(const Epoch& epoch) {
  if (epoch.failures().empty()) return "(no sample was kept)";
  const v1::FailureSample& sample = epoch.failures().front();
  return sample.step().empty() ? sample.message()
                               : fmt::format("step '{}': {}", sample.step(), sample.message());
}

absl::StatusCode SampleCode(const Epoch& epoch) {
  if (epoch.failures().empty() || epoch.failures().front().code() == 0) {
    return absl::StatusCode::kDataLoss;
  }
  return static_cast<absl::StatusCode>(epoch.failures().front().code());
}

}  // namespace

void CheckErrorBudget(OpContext& context, JobId id) {
  const Job* job = context.state().jobs().Find(id);
  if (job == nullptr || !job->epoch.has_value()) return;
  const EpochCounts& counts = job->epoch->counts();
  const uint64_t failed = job->past.failed + counts.failed;
  if (failed == 0) return;
  const v1::ErrorPolicy& policy = job->pipeline.errors();
  const std::string sample = FirstSample(*job->epoch);
  if (policy.on_error() != v1::ON_ERROR_SKIP) {
    EndJob(context, id, SampleCode(*job->epoch),
           fmt::format("a record failed (on_error: fail): {}", sample));
    return;
  }
  const uint64_t read = job->past.delivered + job->past.settled + counts.delivered + counts.settled;
  const double allowed = policy.max_error_fraction() * static_cast<double>(read);
  if (policy.max_errors() != 0 && failed > policy.max_errors()) {
    EndJob(context, id, SampleCode(*job->epoch),
           fmt::format("{} records failed, over max_errors: {}; the first: {}", failed,
                       policy.max_errors(), sample));
  } else if (policy.max_error_fraction() > 0 && read >= kFractionFromRecords &&
             static_cast<double>(failed) > allowed) {
    EndJob(context, id, SampleCode(*job->epoch),
           fmt::format("{} of {} records failed, over max_errors: {}%; the first: {}", failed, read,
                       policy.max_error_fraction() * 100, sample));
  }
}

void TakeErrors(OpContext& context, WorkerId worker, const v1::WorkerBeatRequest& request) {
  for (const v1::TaskError& error : request.errors()) {
    const TaskId task(error.task());
    const Job* job = context.state().JobOf(task);
    if (job == nullptr) continue;
    const Task* active = job->epoch->FindActiveTask(task);
    if (active == nullptr || active->worker != worker) continue;  // told before
    const absl::Status status(static_cast<absl::StatusCode>(error.code()), error.message());
    if (!IsTransient(status)) {
      EndJob(context, job->id, status.code(), error.message());
    } else if (int64_t{job->epoch->task_errors()} >= context.config.max_task_errors) {
      EndJob(context, job->id, status.code(),
             fmt::format("{} tasks of epoch {} failed, over max_task_errors: {}; the last: {}",
                         job->epoch->task_errors() + 1, job->epoch->number(),
                         context.config.max_task_errors, error.message()));
    } else {
      FenceTasks(context, *job, {task}, v1::FENCE_CAUSE_TASK_ERROR,
                 fmt::format("worker {}: {}", worker.value, error.message()));
      FinishEpochIfComplete(context, job->id);
      AssignTasks(context, job->id);
    }
  }
}

}  // namespace headrace::dispatch
