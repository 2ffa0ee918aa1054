// From a pipeline as written to the graph that runs.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "element/schema.h"
#include "headrace/v1/pipeline.pb.h"
#include "pipeline/graph/graph.h"
#include "pipeline/graph/passes/pass.h"

namespace headrace {

// Graph::Build, then the passes, then Graph::BuildPlanned. Errors about the pipeline are about the
// steps as written; INTERNAL when a pass changed what leaves the pipeline.
absl::StatusOr<Graph> BuildOptimized(const v1::PipelineDef& def, const Schema& source_schema,
                                     const OpRegistry& ops, const PassList& passes,
                                     std::string_view dataset_version = {});

}  // namespace headrace
