// One worker's part of one epoch of one job: runs a graph on leased splits and keeps the accounts
// of their records.
//
// The worker owns the task and its deps outlive it. All methods are thread-safe. Nothing here calls
// the network: the worker brings leases, takes finished blocks from output(), and carries reports
// to the dispatcher.
//
// For every lease read to its end each record ends up in exactly one of: the provenance of an
// output row, the settled runs of a report, the lease's skip set (and, with shard_by_record, the
// other shards' records). A step that loses or doubles a record fails the task with INTERNAL at the
// next flush.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "element/frame_memory.h"
#include "headrace/v1/dispatcher.pb.h"
#include "pipeline/engine/compute_pool.h"
#include "pipeline/engine/cpu_meter.h"
#include "pipeline/engine/io_pool.h"
#include "pipeline/engine/output_queue.h"
#include "pipeline/formats/format.h"
#include "pipeline/sources/file_system.h"

namespace headrace {

class FunctionPool;
class Graph;
class PrefixCache;

struct TaskDeps {
  ComputePool* compute = nullptr;
  IoPool* io = nullptr;
  const Clock* clock = nullptr;   // null: RealClock()
  const CpuMeter* cpu = nullptr;  // null: RealCpuMeter()
  // Shared: a read that blocks may end after the task.
  std::shared_ptr<FileSystem> files;
  // For batches that leave the task; null: memory of their own.
  std::shared_ptr<FrameMemory> memory = nullptr;
  std::shared_ptr<Format> format;
  std::shared_ptr<const Graph> graph;
  // Where the rows of the graph's `cache` step are kept; null: nowhere. Shared as the files are.
  std::shared_ptr<PrefixCache> cache = nullptr;
  FunctionPool* functions = nullptr;  // null: a pipeline with Python functions is refused
};

// Called from compute and I/O threads with no lock of the task held, never after the task's
// destructor has returned. Must be quick (set a flag, wake a loop), may call the task's methods,
// must not destroy it. Any may be empty.
struct TaskCallbacks {
  std::function<void()> on_output;       // output() went from empty to not empty
  std::function<void()> on_want_leases;  // LeasesWanted() became positive (time may do it, too)
  std::function<void()>
      on_report;  // a split was read to its end, or all came to rest: TakeReports() has news
  std::function<void()> on_failed;  // status() is an error now
};

struct TaskOptions {
  uint64_t epoch = 0;
  // TaskDef.slot / slots; for the `shard` step, and for shard_by_record: only records with (split
  // id + index) % shards == shard are kept, and none of the others is reported.
  uint64_t shard = 0;
  uint64_t shards = 1;
  bool shard_by_record = false;
  // TaskDef.replay: nothing is left out at the source; elements of the skip sets are dropped where
  // they leave the pipeline.
  bool replay = false;
  double weight = 1;
  // Behind what each NoMoreLeases() lets go, a block without rows follows in output(): a window's
  // end.
  bool mark_windows = false;
  // skip: failed records are counted and reported, and the task goes on; the dispatcher judges the
  // budget. fail: the first fails the task.
  v1::OnError on_error = v1::ON_ERROR_FAIL;

  // Byte limits of what waits between stages. Any value >= 1 works; each place may hold one step's
  // output more.
  uint64_t read_bytes = 32 << 20;  // read ahead of the first chain, all splits together
  uint64_t stage_bytes =
      32 << 20;  // in front of each later chain, and behind each chain for the order's sake
  OutputQueue::Limits output = {};
  // A larger output row fails, naming this limit.
  uint64_t max_element_bytes = 1ull << 30;
  uint64_t max_record_bytes = 1ull << 30;

  size_t open_splits = 4;         // read at once: the first in line, and the next ones ahead
  size_t max_leases_ahead = 256;  // leased and not yet worked on
  uint64_t target_block_nanos =
      4'000'000;  // CPU time of a block in a chain, by which blocks get their rows
  size_t max_block_rows = 1024;
  uint64_t max_block_bytes = 512 << 10;  // as read; a larger record is a block of its own
  size_t max_failure_samples = 10;       // kept, per task
};

class Task {
 public:
  // FAILED_PRECONDITION: a step needs what this worker does not do.
  static absl::StatusOr<std::unique_ptr<Task>> Create(TaskDeps deps, TaskOptions options,
                                                      TaskCallbacks callbacks);
  // Stops: returns when the blocks that compute threads work on right now are through one step.
  // Does not wait for reads.
  virtual ~Task() = default;

  // More input. Splits are read, and their rows leave, in the order of these calls. The same number
  // again is ignored. FAILED_PRECONDITION: these records are still under way under another lease.
  virtual absl::Status AddLease(const v1::Lease& lease) = 0;
  // How many more leases to bring: as many as will be worked on within about a second of elapsed
  // time. 0 once failed.
  virtual size_t LeasesWanted() const = 0;
  // `idle` others have nothing to do: gives up what it would be long in coming to, and says so in
  // its reports (cuts). Nothing where its part of the epoch is its own, or takes no time.
  virtual void Shed(size_t idle) = 0;
  // No more splits for now: what steps hold (shuffle, a partial batch) is let go behind the leases
  // added so far. AddLease may follow.
  virtual void NoMoreLeases() = 0;

  // For a batched pipeline a block is one batch (one row); else up to output.rows_per_block rows.
  virtual OutputQueue& output() = 0;

  // What the dispatcher must hear and was not taken before (`task` is left 0). Reports of a lease
  // end once all its records are accounted for.
  virtual std::vector<v1::SplitReport> TakeReports() = 0;
  // Since the start; step 0 is reading ("0:read"). `task` is left 0.
  virtual v1::TaskStats Stats() const = 0;
  // Time that compute threads spent in it, computing or not. Since the start.
  virtual uint64_t busy_nanos() const = 0;
  // OK, or why the task stopped for good: with on_error fail it names the step, the record, and its
  // path and offset.
  virtual absl::Status status() const = 0;
  // No later record can change the output (take): reading has stopped, added leases are reported
  // abandoned at once.
  virtual bool satisfied() const = 0;
  // All that came in has left through output() and TakeReports(), and no step holds anything.
  virtual bool Idle() const = 0;
};

}  // namespace headrace
