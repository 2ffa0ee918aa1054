// A filter goes in front of steps that do not touch the fields that it asks about: what it takes
// out is then not decoded, cropped or tokenized. Over stateless steps alone, so that the rows that
// are left keep their order and their draws. (A row that such a step would fail on, and that the
// filter takes out, is not seen to fail any more.)
#include "pipeline/passes/step_order.h"

namespace headrace {
namespace {

bool IsFilter(const PlannedStep& planned) { return planned.step.op() == "filter"; }

class FilterEarly final : public StepMover {
 public:
  FilterEarly() : StepMover(Turns::kFirstStepFirst, "what it takes out costs no more") {}
  std::string_view name() const override { return "filter_early"; }
  std::string_view help() const override {
    return "filter runs in front of steps that leave its fields alone";
  }

 private:
  size_t PlaceOf(const Plan& plan, const std::vector<DeclaredStep>& declared,
                 size_t at) const override {
    if (!IsFilter(plan.steps[at])) return at;
    size_t to = at;
    while (to > 0 && declared[to - 1].stateless && declared[at].ApartFrom(declared[to - 1])) --to;
    // Filters that have gone before stay in front of it.
    while (to < at && IsFilter(plan.steps[to])) ++to;
    return to;
  }
};

}  // namespace

void Register_filter_early(PassList& passes) { passes.Add(std::make_unique<FilterEarly>()); }

}  // namespace headrace
