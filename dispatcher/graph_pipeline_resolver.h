// PipelineResolver over the real thing: pipeline/formats lists and cuts the files, pipeline/graph
// binds and checks the steps. Thread-safe.
#pragma once

#include <memory>

#include "dispatcher/pipeline_resolver.h"
#include "pipeline/formats/format.h"
#include "pipeline/graph/op_registry.h"
#include "pipeline/sources/file_system.h"

namespace headrace {

// The registries outlive it.
std::unique_ptr<PipelineResolver> MakeGraphPipelineResolver(const OpRegistry& ops,
                                                            const FormatRegistry& formats,
                                                            std::shared_ptr<FileSystem> files);

}  // namespace headrace
