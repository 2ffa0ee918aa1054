// What `ordering: deterministic` asks of a pipeline, and what a lane of it runs (docs/design/022).
// Pure functions of the pipeline; called by the dispatcher when a job opens and by workers when a
// task starts.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "headrace/v1/ordered.pb.h"
#include "headrace/v1/pipeline.pb.h"
#include "pipeline/graph/graph.h"

namespace headrace {

// `graph` is built of `def`. INVALID_ARGUMENT names the step that cannot be ordered, and what to
// do: batches are what is ordered, and nothing behind the batching step may count, drop or reorder
// them.
absl::StatusOr<v1::OrderedPlan> OrderedPlanOf(const v1::PipelineDef& def, const Graph& graph);

// What a lane runs: all lanes of an epoch together hold four of a shuffle's buffers
// (docs/design/022 measures what that mixes), and left-over rows are never dropped here (the client
// joins them over windows).
v1::PipelineDef LaneForm(const v1::PipelineDef& def, uint32_t lanes);

}  // namespace headrace
