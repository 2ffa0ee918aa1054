// What the orchestrator knows of a cluster after one window of time: the only thing that policies
// see. Made by the collector from the dispatcher's counts, by the simulator, or by a test's hand.
// Plain data, owned by whoever made it; no field is a running total: all are of this window.
//
// "Elements" are what trainers are handed: batches where the pipeline batches. "Rows" are records
// at a step. A figure that the window could not tell (nobody took an element, say) is nullopt,
// never zero.
#pragma once

#include <cstdint>
#include <memory>
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
  // Of the blocks that it worked on: how many, and the sum of (CPU seconds)^2 / rows of each.
  double blocks = 0;
  double cpu_square = 0;
  double wall_seconds = 0;  // reading: that reads took, those that went on at once added up
};

// One step as it runs, and what a cache behind it would be.
struct StepFacts {
  std::string step = {};   // as in StepObservation
  bool one_to_one = true;  // a row out for each row in
  bool random = false;     // another result each epoch
  // In front of which written step rows would be kept, from 0; nullopt: they cannot be kept behind
  // this one, for this reason.
  std::optional<size_t> cut = {};
  std::string no_cut = {};
  uint64_t key = 0;  // of the rows that leave it: equal ones of two jobs are the same rows
};

// What a job's pipeline says, before anything of it is measured.
struct PipelineFacts {
  std::optional<size_t> source_cut = {};  // as StepFacts::cut, of the rows as they are read
  std::string no_source_cut = {};
  uint64_t source_key = 0;
  std::vector<StepFacts> steps = {};  // in the order in which they run
  double passes = 1;                  // of an epoch, over the source
  // The pipeline's own `cache` step: where it stands (a cut), and whether that is a must (its
  // draws hang on it).
  std::optional<size_t> own_cache = {};
  std::string own_tier = {};
  bool own_is_fixed = false;
};

// Where rows of a job are kept.
struct CachePlacement {
  bool none = false;
  size_t cut = 0;  // as StepFacts::cut
  std::string tier = {};
  double share = 1;  // of the splits

  bool operator==(const CachePlacement&) const = default;
};

enum class CacheChoosing { kPipeline, kAuto, kOff };

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
  uint64_t epoch = 0;            // the running one, or the last
  double records = 0;            // delivered or settled in the window
  double records_done = 0;       // of the running epoch, so far
  double epoch_records = 0;      // of a whole epoch; 0: not known
  double busy_seconds = 0;       // of workers' compute threads, for this job
  double cpu_seconds = 0;
  std::vector<StepObservation> steps = {};

  // For the policies of caches.
  CacheChoosing cache = CacheChoosing::kPipeline;
  double epochs = 0;  // that its trainers said they will read; 0: not said
  std::optional<CachePlacement> placement = {};  // that its new tasks are told
  std::shared_ptr<const PipelineFacts> facts = {};
  std::string no_facts = {};  // why there are none
};

enum class WorkerCondition { kReady, kDraining };

struct WorkerObservation {
  uint64_t worker = 0;
  std::string address = {};
  std::string host = {};
  std::vector<std::string> tags = {};
  WorkerCondition condition = WorkerCondition::kReady;
  double cores = 0;    // compute threads
  double readers = 1;  // files that it can read from at once
  // Of its compute threads' time, how much they were in steps, computing or not: 1 is full. What is
  // left is its spare capacity. Nullopt: it has not been up for the whole window.
  std::optional<double> busy = {};
  double cpu_seconds = 0;  // of the process, in the window
  size_t tasks = 0;
  double bytes_per_second = 0;  // sent to trainers
};

// A place where bytes can be kept: for the policies of caches. What it did, in the window.
struct TierObservation {
  uint64_t worker = 0;    // 0: shared by all
  std::string tier = {};  // "memory", "disk", "shared"
  double capacity_bytes = 0;
  double used_bytes = 0;
  double hits = 0;  // splits
  double read_bytes = 0;
  double read_seconds = 0;  // that reads took, those that went on at once added up
  double fills = 0;
  double filled_bytes = 0;
  double fill_seconds = 0;
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
