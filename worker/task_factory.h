// Makes a runnable task of what the dispatcher assigned: checks the pipeline again, rewrites and
// binds it, opens nothing yet.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "cache/tiered_cache.h"
#include "headrace/v1/dispatcher.pb.h"
#include "pipeline/catalog/catalog.h"
#include "pipeline/engine/task.h"
#include "worker/held_splits.h"
#include "worker/task_cache.h"
#include "worker/worker_config.h"

namespace headrace {

// Owned by the Worker; outlives its tasks. Thread-safe after construction.
class TaskFactory {
 public:
  struct Deps {
    const Catalog* catalog;
    ComputePool* compute;
    IoPool* io;
    const Clock* clock;
    std::shared_ptr<FileSystem> files;
    FunctionPool* functions;
    TieredCache* cache;
    HeldSplits* held;
  };
  TaskFactory(const WorkerConfig& config, Deps deps) : config_(config), deps_(std::move(deps)) {}

  // Where batches are made from now on; before the first task.
  void UseMemory(std::shared_ptr<FrameMemory> memory) { memory_ = std::move(memory); }

  struct Made {
    std::unique_ptr<Task> task;
    std::shared_ptr<const TaskCache> cache;  // null: nothing is kept
    bool batched = false;
  };
  // INVALID_ARGUMENT names the step that this worker cannot make (an older worker than dispatcher,
  // say).
  absl::StatusOr<Made> Make(const v1::TaskDef& def, TaskCallbacks callbacks) const;

 private:
  // Of `pipeline`, the def's in the form that runs here; rows are kept where the def says.
  absl::StatusOr<Graph> GraphOf(const v1::TaskDef& def, const v1::PipelineDef& pipeline,
                                const Schema& source_schema) const;

  const WorkerConfig config_;
  const Deps deps_;
  std::shared_ptr<FrameMemory> memory_;
};

}  // namespace headrace
