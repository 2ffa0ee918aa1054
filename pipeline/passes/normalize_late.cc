// Steps that turn each value into another, and mostly into a larger one (normalize: bytes to
// floats), run behind crops and flips of the same field: fewer values, and smaller ones are moved.
// The two kinds commute bit for bit.
#include "pipeline/passes/step_order.h"

namespace headrace {
namespace {

class NormalizeLate final : public StepMover {
 public:
  NormalizeLate() : StepMover(Turns::kLastStepFirst, "fewer and smaller values are moved") {}
  std::string_view name() const override { return "normalize_late"; }
  std::string_view help() const override {
    return "normalize runs behind crops and flips of its field";
  }

 private:
  // Behind the last step of places on its field that is reached over steps that leave it alone.
  size_t PlaceOf(const Plan&, const std::vector<DeclaredStep>& declared, size_t at) const override {
    const OpTraits& traits = declared[at].traits;
    if (traits.work != FieldWork::kValues || traits.fields->size() != 1) return at;
    size_t last = at;
    for (size_t j = at + 1; j < declared.size() && declared[j].stateless; ++j) {
      if (declared[j].Touches(traits.fields->front())) {
        if (declared[j].traits.work != FieldWork::kPlaces) break;
        last = j;
      } else if (!declared[at].ApartFrom(declared[j])) {
        break;
      }
    }
    return last;
  }
};

}  // namespace

void Register_normalize_late(PassList& passes) { passes.Add(std::make_unique<NormalizeLate>()); }

}  // namespace headrace
