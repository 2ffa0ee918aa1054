// Steps that turn each value into another, and mostly into a larger one (normalize: bytes to
// floats), run behind crops and flips of the same field: fewer values, and smaller ones are moved.
// The two kinds commute bit for bit.
#include "common/status.h"
#include "pipeline/graph/passes/pass.h"
#include "pipeline/passes/step_order.h"

namespace headrace {
namespace {

// Where the step at `i` may go to: behind the last step of places on its field that is reached over
// steps that leave the field alone. `i` itself when there is none.
size_t LastOfPlaces(const std::vector<DeclaredStep>& declared, size_t i) {
  const std::string& field = declared[i].traits.fields->front();
  size_t last = i;
  for (size_t j = i + 1; j < declared.size() && declared[j].stateless; ++j) {
    if (declared[j].Touches(field)) {
      if (declared[j].traits.work != FieldWork::kPlaces) break;
      last = j;
    } else if (!declared[i].ApartFrom(declared[j])) {
      break;
    }
  }
  return last;
}

class NormalizeLate final : public Pass {
 public:
  std::string_view name() const override { return "normalize_late"; }
  std::string_view help() const override {
    return "normalize runs behind crops and flips of its field";
  }

  absl::StatusOr<bool> Apply(Plan& plan, const OpRegistry& ops) const override {
    HR_ASSIGN_OR_RETURN(std::vector<DeclaredStep> declared, DeclaredSteps(plan, ops));
    bool changed = false;
    for (size_t i = plan.steps.size(); i-- > 0;) {
      const OpTraits& traits = declared[i].traits;
      if (traits.work != FieldWork::kValues || traits.fields->size() != 1) continue;
      const size_t to = LastOfPlaces(declared, i);
      if (to == i) continue;
      plan.rewrites.push_back(fmt::format("moved {} behind {}: fewer and smaller values are moved",
                                          LabelOf(plan.steps[i]), LabelOf(plan.steps[to])));
      MoveStep(plan.steps, i, to);
      MoveStep(declared, i, to);
      changed = true;
    }
    return changed;
  }
};

}  // namespace

void Register_normalize_late(PassList& passes) { passes.Add(std::make_unique<NormalizeLate>()); }

}  // namespace headrace
