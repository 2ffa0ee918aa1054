#include "pipeline/graph/passes/optimize.h"

#include "common/status.h"

namespace headrace {
namespace {

bool SameOutside(const Graph& a, const Graph& b) {
  return *a.output_schema() == *b.output_schema() && a.passes() == b.passes() &&
         a.batched() == b.batched() && a.has_shard_hint() == b.has_shard_hint() &&
         a.needs_single_task() == b.needs_single_task();
}

}  // namespace

absl::StatusOr<Graph> BuildOptimized(const v1::PipelineDef& def, const Schema& source_schema,
                                     const OpRegistry& ops, const PassList& passes,
                                     std::string_view dataset_version) {
  HR_ASSIGN_OR_RETURN(Graph written, Graph::Build(def, source_schema, ops, dataset_version));
  HR_ASSIGN_OR_RETURN(const Plan plan, passes.Apply(def, ops));
  if (plan.rewrites.empty()) return written;
  HR_ASSIGN_OR_RETURN(Graph optimized,
                      Graph::BuildPlanned(def, plan, source_schema, ops, dataset_version));
  if (!SameOutside(written, optimized)) {
    return Internal(
        "the optimizer changed the output from {} to {} ({}); switch it off with `optimize: false`",
        written.output_schema()->ToString(), optimized.output_schema()->ToString(),
        plan.rewrites.back());
  }
  return optimized;
}

}  // namespace headrace
