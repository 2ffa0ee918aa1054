#include "pipeline/passes/step_order.h"

#include <algorithm>
#include <utility>

#include "common/status.h"

namespace headrace {
namespace {

// One for each step of `plan`, in its order.
absl::StatusOr<std::vector<DeclaredStep>> DeclaredSteps(const Plan& plan, const OpRegistry& ops) {
  std::vector<DeclaredStep> out;
  for (const PlannedStep& planned : plan.steps) {
    HR_ASSIGN_OR_RETURN(const OpSpec* spec, ops.Find(planned.step.op()));
    HR_ASSIGN_OR_RETURN(const std::unique_ptr<Op> op, spec->make(planned.step.params()));
    out.push_back({op->traits(), dynamic_cast<const StatelessOp*>(op.get()) != nullptr});
  }
  return out;
}

// "3:filter": as metrics and tables call it.
std::string LabelOf(const PlannedStep& planned) {
  return fmt::format("{}:{}", planned.written_index + 1,
                     planned.shown_as.empty() ? planned.step.op() : planned.shown_as);
}

template <typename T>
void Move(std::vector<T>& steps, size_t from, size_t to) {
  T moved = std::move(steps[from]);
  steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(from));
  steps.insert(steps.begin() + static_cast<std::ptrdiff_t>(to), std::move(moved));
}

}  // namespace

bool DeclaredStep::Touches(const std::string& field) const {
  return traits.fields &&
         std::find(traits.fields->begin(), traits.fields->end(), field) != traits.fields->end();
}

bool DeclaredStep::ApartFrom(const DeclaredStep& other) const {
  return traits.fields && other.traits.fields &&
         std::none_of(traits.fields->begin(), traits.fields->end(),
                      [&other](const std::string& field) { return other.Touches(field); });
}

absl::StatusOr<bool> StepMover::Apply(Plan& plan, const OpRegistry& ops) const {
  HR_ASSIGN_OR_RETURN(std::vector<DeclaredStep> declared, DeclaredSteps(plan, ops));
  std::vector<PlannedStep>& steps = plan.steps;
  bool changed = false;
  for (size_t turn = 0; turn < steps.size(); ++turn) {
    const size_t from = turns_ == Turns::kFirstStepFirst ? turn : steps.size() - 1 - turn;
    const size_t to = PlaceOf(plan, declared, from);
    if (to == from) continue;
    plan.rewrites.push_back(fmt::format("moved {} {} {}: {}", LabelOf(steps[from]),
                                        to < from ? "in front of" : "behind", LabelOf(steps[to]),
                                        why_));
    Move(steps, from, to);
    Move(declared, from, to);
    changed = true;
  }
  return changed;
}

}  // namespace headrace
