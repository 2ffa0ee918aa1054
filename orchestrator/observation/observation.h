// What the orchestrator knows of a cluster after one window of time: the only thing that policies
// see. Made by the collector from the dispatcher's counts, by the simulator, or by a test's hand.
// Plain data, owned by whoever made it; no field is a running total: all are of this window.
//
// "Elements" are what trainers are handed: batches where the pipeline batches. "Rows" are records
// at a step. A figure that the window could not tell (nobody took an element, say) is nullopt,
// never zero.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headrace::orchestrate {

// One step of a job's pipeline, all its tasks together.
struct StepObservation {
  std::string step = {};
  double cpu_seconds = 0;
  double rows_in = 0;
  double rows_out = 0;
  double bytes_in = 0;
  double bytes_out = 0;
};

struct JobObservation {
  uint64_t job = 0;
  std::string name = {};
  double weight = 1;  // of its share where the fleet is too small
  int priority = 0;   // a higher one is served first
  double min_workers = 0;
  double max_workers = 0;  // its quota, in workers' worth of work; 0: none
  size_t clients = 0;      // that read its running epoch; none: it asks for nothing now
  size_t connected = 0;    // those, and those between epochs
  bool waits_for_workers = false;

  double elements_per_second = 0;  // handed over
  // That its trainers would take if they never waited: from their own step times, pauses of theirs
  // (evaluation, checkpoints) left out.
  std::optional<double> demand = {};
  // Of its trainers' time without pauses, how much they waited; and of that, how much for batches
  // that were finished and on their way (fetch), or not finished yet (prepare).
  std::optional<double> stall = {};
  double fetch_stall = 0;
  double prepare_stall = 0;
  double queue_fill = 0;         // of the trainers' prefetch, 0 to 1
  double bytes_per_element = 0;  // as handed over
  double epoch_progress = 0;     // of the splits, 0 to 1
  double busy_seconds = 0;       // of workers' compute threads, for this job
  double cpu_seconds = 0;
  std::vector<StepObservation> steps = {};
};

enum class WorkerCondition { kReady, kDraining };

struct WorkerObservation {
  uint64_t worker = 0;
  std::string address = {};
  std::string host = {};
  std::vector<std::string> tags = {};
  WorkerCondition condition = WorkerCondition::kReady;
  double cores = 0;  // compute threads
  // Of its compute threads' time, how much they were in steps, computing or not: 1 is full. What is
  // left is its spare capacity. Nullopt: it has not been up for the whole window.
  std::optional<double> busy = {};
  double cpu_seconds = 0;  // of the process, in the window
  size_t tasks = 0;
  double bytes_per_second = 0;  // sent to trainers
};

// A place where bytes can be kept: for the policies of caches.
struct TierObservation {
  uint64_t worker = 0;    // 0: shared by all
  std::string tier = {};  // "memory", "disk", "store"
  double capacity_bytes = 0;
  double used_bytes = 0;
  double read_bytes_per_second = 0;  // left after other tenants
  double write_bytes_per_second = 0;
  double hits = 0;
  double misses = 0;
};

struct Observation {
  double at_seconds = 0;  // end of the window, by a steady clock
  // Its length. A window is begun anew when the fleet has become what was asked for, so that none
  // is half of one fleet and half of another.
  double window_seconds = 0;
  std::vector<JobObservation> jobs = {};
  std::vector<WorkerObservation> workers = {};  // that live
  std::vector<TierObservation> tiers = {};
  size_t workers_wanted = 0;  // that the driver was last told; ready ones may be fewer (they start,
                              // or were preempted) or more (they drain)
  size_t workers_lost = 0;    // that vanished in the window without being asked to

  size_t ready() const {
    size_t n = 0;
    for (const WorkerObservation& worker : workers)
      n += worker.condition == WorkerCondition::kReady;
    return n;
  }
};

}  // namespace headrace::orchestrate
