// Every optimizer pass of Headrace. A pass is one file of this folder that defines Register_<file
// name>(PassList&); they run in the order in which CMakeLists.txt lists them.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "pipeline/graph/passes/optimize.h"

namespace headrace {

PassList AllPasses();

// BuildOptimized (pipeline/graph/passes/optimize.h) with all of them.
absl::StatusOr<Graph> BuildOptimized(const v1::PipelineDef& def, const Schema& source_schema,
                                     const OpRegistry& ops, std::string_view dataset_version = {});

}  // namespace headrace
