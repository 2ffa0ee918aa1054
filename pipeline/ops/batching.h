// Rows -> batches, for `batch` and for the step that scales pixels on their way into one.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "element/schema.h"
#include "pipeline/graph/op.h"
#include "pipeline/ops/pixel_scaling.h"

namespace headrace {

struct BatchParams {
  int64_t size = 0;
  bool drop_remainder = false;
};

// INVALID_ARGUMENT when size is not one.
absl::Status CheckBatchSize(int64_t size);

// What batches of rows of `rows` are: each field with a new first dimension, static when remainders
// are dropped. INVALID_ARGUMENT for a field that has no room for it.
absl::StatusOr<Schema> BatchSchema(const Schema& rows, const BatchParams& params);

// Collects rows of `rows` into batches of `output`. With `scaling` one field arrives as it was
// before scaling, and is scaled straight into the batch's memory. `memory`: StepContext.memory.
std::unique_ptr<OpState> NewBatchState(SchemaPtr rows, SchemaPtr output, const BatchParams& params,
                                       std::shared_ptr<FrameMemory> memory,
                                       std::shared_ptr<const PixelScaling> scaling = nullptr);

}  // namespace headrace
