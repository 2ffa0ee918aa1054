#include "worker/task_factory.h"

#include <algorithm>
#include <utility>

#include "common/logging/logging.h"
#include "common/status.h"
#include "element/schema_proto.h"
#include "pipeline/formats/dataset/dataset.h"
#include "pipeline/graph/graph.h"
#include "pipeline/graph/passes/optimize.h"
#include "pipeline/graph/passes/place_cache.h"
#include "pipeline/ordering/ordering.h"

namespace headrace {
namespace {

constexpr uint64_t kLeastLaneBytes = 1 << 20;
// What all lanes have read ahead should fit into a core's share of the last cache.
constexpr uint64_t kLaneBlockBytes = 256 << 10;

uint64_t Bytes(ByteCount count) { return static_cast<uint64_t>(count.value); }

// A job's lanes share what one task of it would have: this worker may run all of them.
void ShareOut(uint64_t lanes, TaskOptions& options) {
  options.mark_windows = true;
  options.weight /= static_cast<double>(lanes);
  options.open_splits = 2;
  options.max_block_bytes = std::min(options.max_block_bytes, kLaneBlockBytes);
  options.read_bytes = std::max<uint64_t>(kLeastLaneBytes, options.read_bytes / lanes);
  options.stage_bytes = std::max<uint64_t>(kLeastLaneBytes, options.stage_bytes / lanes);
  options.output.max_bytes = std::max<uint64_t>(kLeastLaneBytes, options.output.max_bytes / lanes);
}

}  // namespace

absl::StatusOr<Graph> TaskFactory::GraphOf(const v1::TaskDef& def, const v1::PipelineDef& pipeline,
                                           const Schema& source_schema) const {
  if (def.has_cache() && !def.cache().none()) {
    CachePlace place{.before_step = def.cache().before_step()};
    if (!def.cache().tier().empty()) place.tier = def.cache().tier();
    absl::StatusOr<Graph> graph =
        BuildWithCacheAt(place, pipeline, source_schema, deps_.catalog->ops, deps_.catalog->passes,
                         def.dataset_version());
    if (graph.ok()) return graph;
    // Where rows are kept is advice.
    LogWarning("task {} of job {}: rows are kept as the pipeline says, not in front of step {}: {}",
               def.task(), def.job(), place.before_step + 1, OneLine(graph.status()));
  }
  return BuildOptimized(pipeline, source_schema, deps_.catalog->ops, deps_.catalog->passes,
                        def.dataset_version());
}

absl::StatusOr<TaskFactory::Made> TaskFactory::Make(const v1::TaskDef& def,
                                                    TaskCallbacks callbacks) const {
  const uint64_t lanes = std::max(1u, def.ordered().lanes());
  const v1::PipelineDef pipeline =
      def.has_ordered() ? LaneForm(def.pipeline(), static_cast<uint32_t>(lanes)) : def.pipeline();
  HR_ASSIGN_OR_RETURN(const FormatSpec* format_spec,
                      FormatOf(pipeline.source(), deps_.catalog->formats));
  TaskDeps deps;
  HR_ASSIGN_OR_RETURN(deps.format, format_spec->make(pipeline.source().params()));
  HR_ASSIGN_OR_RETURN(const Schema source_schema, SchemaFromDef(def.source_schema()));
  HR_ASSIGN_OR_RETURN(Graph graph, GraphOf(def, pipeline, source_schema));
  Made made;
  made.batched = graph.batched();
  deps.graph = std::make_shared<const Graph>(std::move(graph));
  deps.compute = deps_.compute;
  deps.io = deps_.io;
  deps.clock = deps_.clock;
  deps.files = deps_.files;
  deps.functions = deps_.functions;
  deps.memory = memory_;
  std::shared_ptr<TaskCache> cache;
  if (!def.cache().none()) {
    const double share = def.cache().share() > 0 ? def.cache().share() : 1;
    cache = TaskCache::Make({*deps_.cache, *deps_.held, *deps_.clock, deps_.files, share},
                            *deps.graph, def.epoch(), def.dataset_version());
  }
  made.cache = cache;
  deps.cache = std::move(cache);

  TaskOptions options;
  options.epoch = def.epoch();
  options.shard = def.slot();
  options.shards = std::max<uint64_t>(1, def.slots());
  options.shard_by_record = def.shard_by_record();
  options.replay = def.replay();
  options.weight = def.weight();
  options.on_error = pipeline.errors().on_error();
  options.read_bytes = Bytes(config_.read_bytes);
  options.stage_bytes = Bytes(config_.stage_bytes);
  options.output.max_bytes = Bytes(config_.output_bytes);
  options.max_element_bytes = Bytes(config_.max_element_bytes);
  options.max_record_bytes = Bytes(config_.max_record_bytes);
  if (def.has_ordered()) ShareOut(lanes, options);
  HR_ASSIGN_OR_RETURN(made.task, Task::Create(std::move(deps), options, std::move(callbacks)));
  return made;
}

}  // namespace headrace
