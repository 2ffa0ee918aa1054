// normalize directly followed by to_chw of the same field: normalize writes channels first itself,
// which saves reading and writing every float once more.
#include "pipeline/graph/params.h"
#include "pipeline/graph/passes/pass.h"
#include "pipeline/passes/step_params.h"

namespace headrace {
namespace {

class FuseNormalizeToChw final : public Pass {
 public:
  std::string_view name() const override { return "fuse_normalize_to_chw"; }
  std::string_view help() const override {
    return "normalize followed by to_chw writes channels first at once";
  }

  absl::StatusOr<bool> Apply(Plan& plan, const OpRegistry&) const override {
    bool changed = false;
    for (size_t i = 0; i + 1 < plan.steps.size(); ++i) {
      v1::Step& normalize = plan.steps[i].step;
      const v1::Step& to_chw = plan.steps[i + 1].step;
      if (normalize.op() != "normalize" || to_chw.op() != "to_chw") continue;
      if (TextParam(normalize, "field") != TextParam(to_chw, "field")) continue;
      if (TextParam(normalize, "layout", "hwc") != "hwc") continue;
      SetParam(normalize, "layout", ToValue(std::string("chw")));
      plan.steps.erase(plan.steps.begin() + static_cast<ptrdiff_t>(i) + 1);
      plan.rewrites.push_back(
          "fused to_chw into normalize: the floats are written once, channels first");
      changed = true;
    }
    return changed;
  }
};

}  // namespace

void Register_fuse_normalize_to_chw(PassList& passes) {
  passes.Add(std::make_unique<FuseNormalizeToChw>());
}

}  // namespace headrace
