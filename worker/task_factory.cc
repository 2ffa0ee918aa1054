#include "worker/task_factory.h"

#include <utility>

#include "common/status.h"
#include "pipeline/graph/graph.h"

namespace headrace {

absl::StatusOr<TaskFactory::Made> TaskFactory::Make(const v1::TaskDef& def,
                                                    TaskCallbacks callbacks) const {
  const v1::PipelineDef& pipeline = def.pipeline();
  HR_ASSIGN_OR_RETURN(const FormatSpec* format_spec,
                      deps_.formats->Find(pipeline.source().format()));
  TaskDeps deps;
  HR_ASSIGN_OR_RETURN(deps.format, format_spec->make(pipeline.source().params()));
  HR_ASSIGN_OR_RETURN(const Schema source_schema, SchemaFromDef(def.source_schema()));
  HR_ASSIGN_OR_RETURN(Graph graph,
                      BuildOptimized(pipeline, source_schema, *deps_.ops, def.dataset_version()));
  Made made;
  made.batched = graph.batched();
  deps.graph = std::make_shared<const Graph>(std::move(graph));
  deps.compute = deps_.compute;
  deps.io = deps_.io;
  deps.clock = deps_.clock;
  deps.files = deps_.files;

  TaskOptions options;
  options.epoch = def.epoch();
  options.shard = def.slot();
  options.shards = std::max<uint64_t>(1, def.slots());
  options.shard_by_record = def.shard_by_record();
  options.weight = def.weight();
  options.on_error = pipeline.errors().on_error();
  options.read_bytes = config_.read_bytes;
  options.stage_bytes = config_.stage_bytes;
  options.output.max_bytes = config_.output_bytes;
  options.max_element_bytes = config_.max_element_bytes;
  options.max_record_bytes = config_.max_record_bytes;
  HR_ASSIGN_OR_RETURN(made.task, Task::Create(std::move(deps), options, std::move(callbacks)));
  return made;
}

}  // namespace headrace
