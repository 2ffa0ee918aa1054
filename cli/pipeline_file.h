// A pipeline given to a command: read from its YAML, its file patterns made absolute (workers have
// another working directory).
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "headrace/v1/pipeline.pb.h"
#include "pipeline/catalog/catalog.h"

namespace headrace {

// NOT_FOUND, PERMISSION_DENIED name the file; INVALID_ARGUMENT has "train.yaml:9:5: ...".
absl::StatusOr<v1::PipelineDef> ReadPipelineFile(const std::string& path, const Catalog& catalog);

}  // namespace headrace
