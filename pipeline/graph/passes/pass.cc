#include "pipeline/graph/passes/pass.h"

#include <algorithm>

#include "common/nearest.h"
#include "common/status.h"

namespace headrace {

std::vector<std::string> PassList::names() const {
  std::vector<std::string> out;
  for (const auto& pass : passes_) out.emplace_back(pass->name());
  return out;
}

absl::StatusOr<Plan> PassList::Apply(const v1::PipelineDef& def, const OpRegistry& ops) const {
  const std::vector<std::string> known = names();
  const auto& off = def.disabled_passes();
  for (const std::string& name : off) {
    if (name == "all" || std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string nearest = NearestWord(name, known);
    return InvalidArgument("optimize: unknown pass '{}'{}", name,
                           nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest));
  }
  Plan plan = PlanOf(def);
  if (std::find(off.begin(), off.end(), "all") != off.end()) return plan;
  for (const auto& pass : passes_) {
    if (std::find(off.begin(), off.end(), pass->name()) != off.end()) continue;
    const absl::StatusOr<bool> changed = pass->Apply(plan, ops);
    if (!changed.ok())
      return Annotate(changed.status(), fmt::format("optimizer pass '{}'", pass->name()));
  }
  return plan;
}

}  // namespace headrace
