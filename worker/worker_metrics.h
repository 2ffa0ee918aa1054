// What a worker shows of its tasks at /metrics. The beat loop feeds it the engine's own counts;
// nothing is counted twice.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cache/tiered_cache.h"
#include "common/metrics/metrics.h"
#include "headrace/v1/dispatcher.pb.h"
#include "pipeline/udf/function_pool.h"

namespace headrace {

// Owned by the Worker, called by its beat loop only. `metrics` outlives it.
class WorkerMetrics {
 public:
  explicit WorkerMetrics(Metrics& metrics);

  // `stats`: since the task's start. A beat may come every few milliseconds and a job have dozens
  // of tasks here, so a task's series are looked up once.
  void Update(const v1::TaskDef& def, const v1::TaskStats& stats);
  void Update(const FunctionCounters& functions);
  void Update(const TieredCache& cache);
  void Forget(uint64_t task);
  void SetTasks(size_t tasks) { tasks_->Set(static_cast<double>(tasks)); }
  void CountBeatFailure() { beat_failures_->Add(); }

 private:
  // The series of one step; tasks of one pipeline share them.
  struct Step {
    SecondsCounter* cpu;
    Counter* rows_out;
    Counter* rows_in;
    Counter* bytes;
    Counter* failed;
  };
  // All tasks of a pipeline together.
  struct Held {
    Gauge* queued_gauge = nullptr;
    Gauge* held_gauge = nullptr;
    uint64_t queued = 0;
    uint64_t held = 0;
  };
  struct Task {
    v1::TaskStats last;
    std::vector<Step> steps;
    Held* held = nullptr;
  };
  Step StepSeries(const std::string& pipeline, const std::string& step);
  static void Count(Held& held, const v1::TaskStats& before, const v1::TaskStats& now);

  Metrics& metrics_;
  Gauge* const tasks_;
  Counter* const beat_failures_;
  std::map<uint64_t, Task> tasks_seen_;
  std::map<std::string, Held> held_;                // by pipeline
  std::map<std::string, uint64_t> last_functions_;  // by metric and reason
  std::map<std::string, uint64_t> last_cache_;      // by metric, tier and reason
};

}  // namespace headrace
