// What a worker shows of its tasks at /metrics. The beat loop feeds it the engine's own counts;
// nothing is counted twice.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "cache/tiered_cache.h"
#include "common/metrics/metrics.h"
#include "headrace/v1/dispatcher.pb.h"
#include "pipeline/udf/function_pool.h"

namespace headrace {

// Owned by the Worker, called by its beat loop only. `metrics` outlives it.
class WorkerMetrics {
 public:
  explicit WorkerMetrics(Metrics& metrics);

  // `stats`: since the task's start.
  void Update(const v1::TaskDef& def, const v1::TaskStats& stats);
  void Update(const FunctionCounters& functions);
  void Update(const TieredCache& cache);
  void Forget(uint64_t task) { last_.erase(task); }
  void SetTasks(size_t tasks) { tasks_->Set(static_cast<double>(tasks)); }
  void CountBeatFailure() { beat_failures_->Add(); }

 private:
  Metrics& metrics_;
  Gauge* const tasks_;
  Counter* const beat_failures_;
  std::map<uint64_t, v1::TaskStats> last_;
  std::map<std::string, uint64_t> last_functions_;  // by metric and reason
  std::map<std::string, uint64_t> last_cache_;      // by metric, tier and reason
};

}  // namespace headrace
