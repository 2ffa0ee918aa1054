// A drop behind a shuffle goes in front of it, where nothing in between needs the fields: a shuffle
// holds thousands of rows, and what will be dropped need not be among what it holds.
#include "pipeline/passes/step_order.h"

namespace headrace {
namespace {

class DropEarly final : public StepMover {
 public:
  DropEarly() : StepMover(Turns::kFirstStepFirst, "what is dropped is not held there") {}
  std::string_view name() const override { return "drop_early"; }
  std::string_view help() const override {
    return "drop runs in front of a shuffle: what is dropped is not held";
  }

 private:
  size_t PlaceOf(const Plan& plan, const std::vector<DeclaredStep>& declared,
                 size_t at) const override {
    if (plan.steps[at].step.op() != "drop") return at;
    // Over shuffles, the one kind of stateful step that declares its fields, and what commutes.
    size_t to = at;
    for (size_t j = at; j > 0 && declared[at].ApartFrom(declared[j - 1]); --j) {
      if (!declared[j - 1].stateless) to = j - 1;
    }
    return to;
  }
};

}  // namespace

void Register_drop_early(PassList& passes) { passes.Add(std::make_unique<DropEarly>()); }

}  // namespace headrace
