// A pipeline that is known to be right: every step made, bound to the schema that reaches it, and
// fingerprinted.
//
// Built once per job (dispatcher, `explain`, Python's checks) and once per task (worker) on any one
// thread; immutable and thread-safe from then on. A failed Build leaves nothing behind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "element/schema.h"
#include "headrace/v1/pipeline.pb.h"
#include "pipeline/graph/op.h"
#include "pipeline/graph/op_registry.h"
#include "pipeline/graph/plan.h"

namespace headrace {

struct Node {
  // Position in the pipeline as written, from 0. Messages count from 1.
  size_t written_index = 0;
  // RandomKey.step: the same position, `cache` steps not counted, so that a cache that comes or
  // goes changes no draw.
  size_t draw_index = 0;
  std::string op;  // "resize"
  std::string
      shown_as;  // what users call it: op, or the written steps that an internal one stands for
  std::string location;  // "train.yaml:9", may be empty
  v1::ValueMap given;    // parameters as written, or as the optimizer put them
  v1::ValueMap params;   // the same in the order of the declaration, defaults filled in
  std::shared_ptr<const Op> code;
  // `code` seen as what it is: exactly one of the three is set.
  const StatelessOp* stateless = nullptr;
  const StatefulOp* stateful = nullptr;
  const AsyncOp* async = nullptr;
  bool batches_in = false;  // its input's rows are batches
  OpTraits traits;
  SchemaPtr output;
  // RandomKey.seed: the step's own `seed` parameter where it has one, else the pipeline's.
  uint64_t seed = 0;
  // Of everything up to and with this step, 32 hex digits: two streams with one fingerprint hold
  // the same records.
  std::string fingerprint;

  // "train.yaml:9: step 3 'resize'": what a message about this step begins with. Names steps that
  // the user wrote, never an internal one.
  std::string Where() const;
  // "3:resize": this step in metrics and tables; unique within the pipeline.
  std::string Label() const;
};

// Nodes [begin, end) that run together: a chain of stateless ones, or one of another kind.
struct Segment {
  bool stateful = false;
  size_t begin = 0;
  size_t end = 0;

  bool operator==(const Segment&) const = default;
};

// The `cache` step of a pipeline: rows that reach it may come from a cache instead.
struct CachePoint {
  size_t node = 0;   // its place in nodes()
  std::string tier;  // where rows are kept: "auto", "memory", "disk"
  // Random steps in front of it draw as in epoch (e mod variants); 0: there are none.
  uint64_t variants = 0;
  // Of the rows that reach it, whatever the files: format, schema, steps, seed of random ones.
  std::string fingerprint;
};

class Graph {
 public:
  // `dataset_version` stands for the records of the source in the fingerprints of nodes (not in
  // that of the graph). INVALID_ARGUMENT names the wrong step and what to do: "train.yaml:9: step 3
  // 'resize': field 'image' is bytes; decode it first with decode_image".
  static absl::StatusOr<Graph> Build(const v1::PipelineDef& def, const Schema& source_schema,
                                     const OpRegistry& ops, std::string_view dataset_version = {});
  // The same for steps that an optimizer has rewritten; `plan` must come from `def`. The graph's
  // own fingerprint is still that of `def` as written, so switching a pass off never makes another
  // job of it. (BuildOptimized in pipeline/graph/passes/ does both steps.)
  static absl::StatusOr<Graph> BuildPlanned(const v1::PipelineDef& def, const Plan& plan,
                                            const Schema& source_schema, const OpRegistry& ops,
                                            std::string_view dataset_version = {});

  const std::vector<Node>& nodes() const { return nodes_; }
  const SchemaPtr& source_schema() const { return source_schema_; }
  // What leaves the last step; the source's schema when there are no steps.
  const SchemaPtr& output_schema() const {
    return nodes_.empty() ? source_schema_ : nodes_.back().output;
  }
  // The engine's view, in order: neighbouring stateless nodes in one segment, each other node in
  // its own.
  std::vector<Segment> segments() const;

  // How often an epoch reads the source (`repeat`); 1 without it. The node of `repeat` itself
  // passes rows on.
  uint64_t passes() const { return passes_; }
  // The pipeline says itself where it is cut for STATIC hint sharding (`shard`).
  bool has_shard_hint() const { return has_shard_hint_; }
  // Some step counts rows over the whole epoch: it must run in one task.
  bool needs_single_task() const { return needs_single_task_; }
  // The output's rows are batches.
  bool batched() const { return batched_; }
  // Where rows may be kept (`cache`), if the pipeline says so.
  const std::optional<CachePoint>& cache() const { return cache_; }
  uint64_t seed() const { return seed_; }

  // Of the source (before any step) with `dataset_version`, as Node::fingerprint.
  const std::string& source_fingerprint() const { return source_fingerprint_; }
  // Of the pipeline as written: format, steps, parameters and seed, but neither files, dataset
  // version, names, locations, error policy nor switched-off passes. What a job and a checkpoint
  // are compared by.
  const std::string& fingerprint() const { return fingerprint_; }
  // The optimizer's sentences.
  const std::vector<std::string>& rewrites() const { return rewrites_; }

 private:
  Graph() = default;
  absl::Status AddNodes(const Plan& plan, const OpRegistry& ops);
  absl::Status Note(const Node& node);
  absl::Status NoteCache(const Node& node);

  SchemaPtr source_schema_;
  std::vector<Node> nodes_;
  std::vector<std::string> rewrites_;
  std::string source_fingerprint_;
  std::string fingerprint_;
  std::string prefix_;  // of the nodes so far, without the dataset's version
  uint64_t seed_ = 0;
  uint64_t passes_ = 1;
  bool repeats_ = false;
  bool has_shard_hint_ = false;
  bool needs_single_task_ = false;
  bool batched_ = false;
  bool cuts_ = false;  // a step cuts records into parts
  std::optional<CachePoint> cache_;
};

}  // namespace headrace
