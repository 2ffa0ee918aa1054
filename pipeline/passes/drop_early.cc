// A drop behind a shuffle goes in front of it, where nothing in between needs the fields: a shuffle
// holds thousands of rows, and what will be dropped need not be among what it holds.
#include "common/status.h"
#include "pipeline/graph/passes/pass.h"
#include "pipeline/passes/step_order.h"

namespace headrace {
namespace {

class DropEarly final : public Pass {
 public:
  std::string_view name() const override { return "drop_early"; }
  std::string_view help() const override {
    return "drop runs in front of a shuffle: what is dropped is not held";
  }

  absl::StatusOr<bool> Apply(Plan& plan, const OpRegistry& ops) const override {
    HR_ASSIGN_OR_RETURN(std::vector<DeclaredStep> declared, DeclaredSteps(plan, ops));
    bool changed = false;
    for (size_t i = 0; i < plan.steps.size(); ++i) {
      if (plan.steps[i].step.op() != "drop") continue;
      // Over shuffles, the one kind of stateful step that declares its fields, and what commutes.
      size_t to = i;
      for (size_t j = i; j > 0 && declared[i].ApartFrom(declared[j - 1]); --j) {
        if (!declared[j - 1].stateless) to = j - 1;
      }
      if (to == i) continue;
      plan.rewrites.push_back(
          fmt::format("moved {} in front of {}: what is dropped is not held there",
                      LabelOf(plan.steps[i]), LabelOf(plan.steps[to])));
      MoveStep(plan.steps, i, to);
      MoveStep(declared, i, to);
      changed = true;
    }
    return changed;
  }
};

}  // namespace

void Register_drop_early(PassList& passes) { passes.Add(std::make_unique<DropEarly>()); }

}  // namespace headrace
