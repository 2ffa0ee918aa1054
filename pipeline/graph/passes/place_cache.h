// A graph whose rows are kept somewhere else than where the pipeline's own `cache` step stands, if
// it has one. What leaves it is the same, with the same draws, fingerprints and names of steps.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "element/schema.h"
#include "headrace/v1/pipeline.pb.h"
#include "pipeline/graph/graph.h"
#include "pipeline/graph/passes/pass.h"

namespace headrace {

struct CachePlace {
  size_t before_step = 0;  // of the pipeline as written, from 0; behind the last: their number
  std::string tier = "auto";
};

// As BuildOptimized. INVALID_ARGUMENT also when rows cannot be kept there, for the reasons for
// which a `cache` step could not stand there; or when the pipeline's own has `variants`, since its
// draws hang on where it is.
absl::StatusOr<Graph> BuildWithCacheAt(const CachePlace& place, const v1::PipelineDef& def,
                                       const Schema& source_schema, const OpRegistry& ops,
                                       const PassList& passes,
                                       std::string_view dataset_version = {});

}  // namespace headrace
