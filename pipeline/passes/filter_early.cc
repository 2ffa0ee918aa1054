// A filter goes in front of steps that do not touch the fields that it asks about: what it takes
// out is then not decoded, cropped or tokenized. Over stateless steps alone, so that the rows that
// are left keep their order and their draws. (A row that such a step would fail on, and that the
// filter takes out, is not seen to fail any more.)
#include "common/status.h"
#include "pipeline/graph/passes/pass.h"
#include "pipeline/passes/step_order.h"

namespace headrace {
namespace {

bool IsFilter(const PlannedStep& planned) { return planned.step.op() == "filter"; }

class FilterEarly final : public Pass {
 public:
  std::string_view name() const override { return "filter_early"; }
  std::string_view help() const override {
    return "filter runs in front of steps that leave its fields alone";
  }

  absl::StatusOr<bool> Apply(Plan& plan, const OpRegistry& ops) const override {
    HR_ASSIGN_OR_RETURN(std::vector<DeclaredStep> declared, DeclaredSteps(plan, ops));
    bool changed = false;
    for (size_t i = 0; i < plan.steps.size(); ++i) {
      if (!IsFilter(plan.steps[i])) continue;
      size_t to = i;
      while (to > 0 && declared[to - 1].stateless && declared[i].ApartFrom(declared[to - 1])) --to;
      // Filters that have gone before stay in front of it.
      while (to < i && IsFilter(plan.steps[to])) ++to;
      if (to == i) continue;
      plan.rewrites.push_back(
          fmt::format("moved {} in front of {}: what it takes out costs no more",
                      LabelOf(plan.steps[i]), LabelOf(plan.steps[to])));
      MoveStep(plan.steps, i, to);
      MoveStep(declared, i, to);
      changed = true;
    }
    return changed;
  }
};

}  // namespace

void Register_filter_early(PassList& passes) { passes.Add(std::make_unique<FilterEarly>()); }

}  // namespace headrace
