#include "pipeline/engine/local_runner.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"
#include "common/status.h"
#include "pipeline/formats/dataset/dataset.h"
#include "pipeline/graph/graph.h"
#include "pipeline/passes/passes.h"

namespace headrace {
namespace {

// Wakes the calling thread when the task has something for it.
class Bell {
 public:
  void Ring() {
    absl::MutexLock lock(&mutex_);
    rung_ = true;
  }
  void Await() {
    absl::MutexLock lock(&mutex_);
    // The task's last unit ends a moment after its last callback, so look again soon.
    mutex_.AwaitWithTimeout(absl::Condition(&rung_), absl::Milliseconds(5));
    rung_ = false;
  }

 private:
  absl::Mutex mutex_;
  bool rung_ ABSL_GUARDED_BY(mutex_) = false;
};

// Adds up what the task reports, and judges its failures as the dispatcher would.
class Tally {
 public:
  Tally(const v1::ErrorPolicy& errors, LocalRunReport& report) : errors_(errors), report_(report) {}

  void Add(Task& task) {
    for (v1::SplitReport& split : task.TakeReports()) {
      // Every later report of the lease says it again.
      if (split.read_to_end() && ended_.insert(split.lease()).second)
        report_.records += split.records();
      for (const v1::Run& run : split.settled()) report_.settled += run.count();
      report_.failed += split.failed();
      for (v1::FailureSample& sample : *split.mutable_samples()) {
        report_.failures.push_back(std::move(sample));
      }
    }
  }

  absl::Status Judge() const {
    const std::string first = report_.failures.empty() ? "" : report_.failures.front().message();
    if (errors_.max_errors() > 0 && report_.failed > errors_.max_errors()) {
      return ResourceExhausted("{} records failed, more than max_errors, {}; the first: {}",
                               report_.failed, errors_.max_errors(), first);
    }
    const double most = errors_.max_error_fraction() * static_cast<double>(report_.records);
    if (errors_.max_errors() == 0 && errors_.max_error_fraction() > 0 &&
        report_.records >= kJudgeFrom && static_cast<double>(report_.failed) > most) {
      return ResourceExhausted("{} of {} records failed, more than max_errors, {}%; the first: {}",
                               report_.failed, report_.records, 100 * errors_.max_error_fraction(),
                               first);
    }
    return absl::OkStatus();
  }

 private:
  static constexpr uint64_t kJudgeFrom = 1000;  // records, for a budget in parts of them

  const v1::ErrorPolicy& errors_;
  LocalRunReport& report_;
  absl::flat_hash_set<uint64_t> ended_;
};

// Feeds leases as the task asks for them, hands its blocks out; until all is through.
absl::Status Drive(Task& task, const SplitList& splits, uint64_t passes, Bell& bell, Tally& tally,
                   absl::FunctionRef<absl::Status(Block)> on_block, LocalRunReport& report) {
  const uint64_t leases = report.splits * passes;
  uint64_t leased = 0;
  bool flushed = false;
  while (true) {
    for (size_t wanted = task.LeasesWanted(); wanted > 0 && leased < leases; --wanted, ++leased) {
      v1::Lease lease;
      lease.set_number(leased + 1);
      *lease.mutable_split() = splits[leased % report.splits];
      lease.set_pass(static_cast<uint32_t>(leased / report.splits));
      HR_RETURN_IF_ERROR(task.AddLease(lease));
    }
    // Once a step is satisfied the rest of the splits need not be looked at.
    if (!flushed && (leased == leases || task.satisfied())) {
      task.NoMoreLeases();
      flushed = true;
    }
    bool some = false;
    while (std::optional<Block> block = task.output().TryPop()) {
      some = true;
      report.rows += block->rows();
      HR_RETURN_IF_ERROR(on_block(*std::move(block)));
    }
    tally.Add(task);
    HR_RETURN_IF_ERROR(task.status());
    HR_RETURN_IF_ERROR(tally.Judge());
    if (flushed && task.Idle()) return absl::OkStatus();
    if (!some) bell.Await();
  }
}

}  // namespace

absl::StatusOr<LocalRunReport> RunLocally(const v1::PipelineDef& pipeline, const LocalRunDeps& deps,
                                          const LocalRunOptions& options,
                                          absl::FunctionRef<absl::Status(Block)> on_block) {
  HR_ASSIGN_OR_RETURN(const Dataset dataset,
                      ListDataset(pipeline.source(), *deps.formats, *deps.files, options.splits));
  HR_ASSIGN_OR_RETURN(Graph graph,
                      BuildOptimized(pipeline, dataset.schema, *deps.ops, dataset.version));
  const uint64_t passes = graph.passes();

  Bell bell;
  ComputePool compute({.threads = options.compute_threads});
  IoPool io(options.io_threads);
  TaskDeps task_deps;
  task_deps.compute = &compute;
  task_deps.io = &io;
  task_deps.files = deps.files;
  task_deps.functions = deps.functions;
  task_deps.format = dataset.format;
  task_deps.graph = std::make_shared<const Graph>(std::move(graph));
  TaskOptions task_options = options.task;
  task_options.on_error = pipeline.errors().on_error();
  TaskCallbacks callbacks;
  callbacks.on_output = callbacks.on_want_leases = callbacks.on_report =
      callbacks.on_failed = [&bell] { bell.Ring(); };
  HR_ASSIGN_OR_RETURN(std::unique_ptr<Task> task,
                      Task::Create(std::move(task_deps), task_options, std::move(callbacks)));

  LocalRunReport report;
  report.splits = dataset.splits.size();
  if (options.max_splits > 0) report.splits = std::min<uint64_t>(report.splits, options.max_splits);
  const absl::Duration start = RealClock().Steady();
  Tally tally(pipeline.errors(), report);
  HR_RETURN_IF_ERROR(Drive(*task, dataset.splits, passes, bell, tally, on_block, report));
  report.wall_seconds = absl::ToDoubleSeconds(RealClock().Steady() - start);
  report.stats = task->Stats();
  return report;
}

}  // namespace headrace
