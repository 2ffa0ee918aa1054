// A PipelineResolver that makes datasets up. For tests and the simulation; no binary links it.
#pragma once

#include <algorithm>
#include <utility>

#include "dispatcher/pipeline_resolver.h"

namespace headrace {

class FakePipelineResolver final : public PipelineResolver {
 public:
  struct Shape {
    uint64_t splits = 1;
    uint64_t splits_per_file = 1;
    uint64_t passes = 1;
    bool single_task = false;
    bool shard_hint = false;
    bool batched = false;
    std::string version = "v1";
    uint64_t batch_rows = 1;  // ordering deterministic
  };
  explicit FakePipelineResolver(Shape shape) : shape_(std::move(shape)) {}

  absl::StatusOr<ResolvedPipeline> Resolve(const v1::PipelineDef& pipeline, uint64_t) override {
    ++calls;
    ResolvedPipeline resolved;
    v1::Split split;
    for (uint64_t i = 0; i < shape_.splits; ++i) {
      split.set_file_index(i / std::max<uint64_t>(1, shape_.splits_per_file));
      resolved.splits.Add(split);
    }
    resolved.passes = shape_.passes;
    resolved.single_task = shape_.single_task;
    resolved.shard_hint = shape_.shard_hint;
    resolved.batched = shape_.batched;
    resolved.ordered->set_batch_rows(shape_.batch_rows);
    // Like the real one: without names and locations.
    v1::PipelineDef nameless = pipeline;
    nameless.clear_name();
    resolved.fingerprint = nameless.SerializeAsString();
    resolved.dataset_version = shape_.version;
    return resolved;
  }

  void set_version(std::string version) { shape_.version = std::move(version); }

  int calls = 0;

 private:
  Shape shape_;
};

}  // namespace headrace
