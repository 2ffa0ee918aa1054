// Rows of a block -> a request in shared memory. One copy of every byte; nothing is kept.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "element/block.h"
#include "pipeline/graph/random.h"
#include "pipeline/udf/function_spec.h"
#include "pipeline/udf/shared_segment.h"

namespace headrace::udf {

struct RequestOptions {
  std::span<const size_t> columns;    // of the block, in the order of the spec's inputs
  const RandomKey* random = nullptr;  // not null: a key per row goes along
  bool single = false;                // each row is a call of its own
  size_t max_bytes = 0;               // of the segment
};

// OUT_OF_RANGE: it would not fit `max_bytes`. An error leaves the request undefined.
absl::StatusOr<size_t> WriteRequest(const Block& block, std::span<const uint32_t> rows,
                                    const RequestOptions& options, SharedSegment& segment);

}  // namespace headrace::udf
