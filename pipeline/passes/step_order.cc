#include "pipeline/passes/step_order.h"

#include <algorithm>
#include <utility>

#include "common/status.h"

namespace headrace {

bool DeclaredStep::Touches(const std::string& field) const {
  return traits.fields &&
         std::find(traits.fields->begin(), traits.fields->end(), field) != traits.fields->end();
}

bool DeclaredStep::ApartFrom(const DeclaredStep& other) const {
  return traits.fields && other.traits.fields &&
         std::none_of(traits.fields->begin(), traits.fields->end(),
                      [&other](const std::string& field) { return other.Touches(field); });
}

absl::StatusOr<std::vector<DeclaredStep>> DeclaredSteps(const Plan& plan, const OpRegistry& ops) {
  std::vector<DeclaredStep> out;
  for (const PlannedStep& planned : plan.steps) {
    HR_ASSIGN_OR_RETURN(const OpSpec* spec, ops.Find(planned.step.op()));
    HR_ASSIGN_OR_RETURN(const std::unique_ptr<Op> op, spec->make(planned.step.params()));
    out.push_back({op->traits(), dynamic_cast<const StatelessOp*>(op.get()) != nullptr});
  }
  return out;
}

std::string LabelOf(const PlannedStep& planned) {
  return fmt::format("{}:{}", planned.written_index + 1,
                     planned.shown_as.empty() ? planned.step.op() : planned.shown_as);
}

}  // namespace headrace
