// From a pipeline's words to what a job is made of: files listed and cut into splits, steps bound
// and checked. Does I/O: called without the dispatcher's mutex, by many threads at once.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "headrace/v1/ordered.pb.h"
#include "headrace/v1/pipeline.pb.h"
#include "pipeline/splits/split_list.h"

namespace headrace {

struct ResolvedPipeline {
  SplitList splits;
  v1::SchemaDef source_schema;
  v1::SchemaDef schema;  // of what leaves the last step
  bool batched = false;
  uint64_t passes = 1;
  bool single_task = false;
  bool shard_hint = false;      // it has a `shard` step ...
  bool shards_batches = false;  // ... after batches are made, where records cannot be told apart
  std::string fingerprint;
  std::string dataset_version;
  // For jobs whose ordering is deterministic; else never looked at.
  absl::StatusOr<v1::OrderedPlan> ordered = v1::OrderedPlan();
};

class PipelineResolver {
 public:
  virtual ~PipelineResolver() = default;
  // Errors are the user's to read: INVALID_ARGUMENT names the step, NOT_FOUND the pattern without
  // files.
  virtual absl::StatusOr<ResolvedPipeline> Resolve(const v1::PipelineDef& pipeline,
                                                   uint64_t target_split_bytes) = 0;
};

}  // namespace headrace
