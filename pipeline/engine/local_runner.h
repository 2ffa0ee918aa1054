// Runs a pipeline on all its splits in this process, without a dispatcher: `headrace explain`,
// benchmarks, tests.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "element/block.h"
#include "headrace/v1/dispatcher.pb.h"
#include "headrace/v1/pipeline.pb.h"
#include "pipeline/engine/task.h"
#include "pipeline/formats/format.h"
#include "pipeline/graph/op_registry.h"

namespace headrace {

struct LocalRunDeps {
  const OpRegistry* ops = nullptr;
  const FormatRegistry* formats = nullptr;
  std::shared_ptr<FileSystem> files;
  FunctionPool* functions = nullptr;  // outlives the call; null: no Python functions
};

struct LocalRunOptions {
  size_t compute_threads = 0;  // 0: one per core
  size_t io_threads = 2;
  SplitOptions splits;
  size_t max_splits = 0;  // 0: all; else only the first ones, for a quick measurement
  TaskOptions task;       // on_error is taken from the pipeline
};

struct LocalRunReport {
  v1::TaskStats stats;  // per step
  uint64_t splits = 0;
  uint64_t records = 0;  // read
  uint64_t rows = 0;     // given to `on_block`
  uint64_t settled = 0;  // left without output, failed ones included
  uint64_t failed = 0;
  std::vector<v1::FailureSample> failures;
  double wall_seconds = 0;
};

// Calls `on_block` on this thread with each final block, in order; its error stops the run and is
// returned.
absl::StatusOr<LocalRunReport> RunLocally(const v1::PipelineDef& pipeline, const LocalRunDeps& deps,
                                          const LocalRunOptions& options,
                                          absl::FunctionRef<absl::Status(Block)> on_block);

}  // namespace headrace
