#include "pipeline/graph/passes/place_cache.h"

#include <vector>

#include "common/status.h"
#include "pipeline/graph/params.h"

namespace headrace {
namespace {

const v1::Value* Find(const v1::Step& step, std::string_view name) {
  for (const v1::NamedValue& entry : step.params().entries()) {
    if (entry.name() == name) return &entry.value();
  }
  return nullptr;
}

void Add(v1::Step& step, std::string_view name, v1::Value value) {
  v1::NamedValue& entry = *step.mutable_params()->add_entries();
  entry.set_name(std::string(name));
  *entry.mutable_value() = std::move(value);
}

// The steps with the cache where it shall be, and for each its place as written.
struct Placed {
  v1::PipelineDef def;
  std::vector<size_t> written;
};

absl::StatusOr<Placed> Move(const CachePlace& place, const v1::PipelineDef& def) {
  v1::Step kept;
  kept.set_op("_placed_cache");
  Add(kept, "tier", ToValue(place.tier));
  for (const v1::Step& step : def.steps()) {
    if (step.op() != "cache") continue;
    const v1::Value* variants = Find(step, "variants");
    if (variants != nullptr && variants->integer() > 0) {
      return InvalidArgument("the draws of a cache with `variants` hang on where it is");
    }
    if (const v1::Value* key = Find(step, "key")) Add(kept, "key", *key);
  }
  Placed placed{def, {}};
  placed.def.clear_steps();
  const auto steps = static_cast<size_t>(def.steps_size());
  for (size_t i = 0; i <= steps; ++i) {
    if (i == place.before_step) {
      *placed.def.add_steps() = kept;
      placed.written.push_back(i);
    }
    if (i == steps) break;
    v1::Step& step = *placed.def.add_steps() = def.steps(static_cast<int>(i));
    placed.written.push_back(i);
    if (step.op() != "cache") continue;
    step.set_op("_passed_cache");
    step.clear_params();
  }
  return placed;
}

}  // namespace

absl::StatusOr<Graph> BuildWithCacheAt(const CachePlace& place, const v1::PipelineDef& def,
                                       const Schema& source_schema, const OpRegistry& ops,
                                       const PassList& passes, std::string_view dataset_version) {
  if (place.before_step > static_cast<size_t>(def.steps_size())) {
    return InvalidArgument("no step {} to keep rows in front of: there are {}",
                           place.before_step + 1, def.steps_size());
  }
  HR_ASSIGN_OR_RETURN(const Placed placed, Move(place, def));
  HR_ASSIGN_OR_RETURN(Plan plan, passes.Apply(placed.def, ops));
  for (PlannedStep& planned : plan.steps) {
    planned.written_index = placed.written[planned.written_index];
    if (planned.step.op() == "_placed_cache") planned.shown_as = "cache";
  }
  return Graph::BuildPlanned(def, plan, source_schema, ops, dataset_version);
}

}  // namespace headrace
