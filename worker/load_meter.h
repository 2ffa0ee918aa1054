// What a worker tells of itself about once a second: how busy its compute threads are, and with
// which job. Totals since its start; the orchestrator takes differences. Owned by the Worker,
// called by its load loop only.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "absl/time/time.h"
#include "cache/tiered_cache.h"
#include "headrace/v1/fleet.pb.h"

namespace headrace {

// What the tiers have, and what they did since the worker's start.
void FillTiers(const TieredCache& cache, v1::WorkerLoad& load);

class LoadMeter {
 public:
  explicit LoadMeter(absl::Duration now) : started_(now) {}

  struct TaskLoad {  // since the task's start, but for the last
    uint64_t task = 0;
    uint64_t job = 0;
    double busy_seconds = 0;
    double cpu_seconds = 0;
    uint64_t output_bytes = 0;  // now
  };
  // All tasks that run. What those did that are gone stays counted.
  void Update(const std::vector<TaskLoad>& tasks);

  struct Totals {
    absl::Duration now = absl::ZeroDuration();  // steady
    uint64_t busy_nanos = 0;                    // of the compute pool
    size_t threads = 0;
    size_t readers = 0;
  };
  // CPU time is read from /proc.
  void Fill(const Totals& totals, v1::WorkerLoad& load) const;

 private:
  struct Work {
    double busy_seconds = 0;
    double cpu_seconds = 0;
    uint64_t output_bytes = 0;
  };
  // Of jobs that ended long ago, the ones with the smallest ids go.
  static constexpr size_t kMostJobs = 256;

  const absl::Duration started_;
  std::map<uint64_t, Work> tasks_;  // as last told
  std::map<uint64_t, Work> jobs_;
};

}  // namespace headrace
