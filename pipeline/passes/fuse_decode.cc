// decode_image directly followed by a step that takes a part of the image: only that part is
// decoded, at the smallest scale that serves. The step itself is pipeline/ops/decode_and_crop.cc.
#include "pipeline/ops/fuse_decode.h"

#include "common/status.h"
#include "pipeline/graph/passes/pass.h"

namespace headrace {
namespace {

class FuseDecode final : public Pass {
 public:
  std::string_view name() const override { return "fuse_decode"; }
  std::string_view help() const override {
    return "decode_image followed by a crop or resize decodes only what is needed";
  }

  absl::StatusOr<bool> Apply(Plan& plan, const OpRegistry&) const override {
    bool changed = false;
    for (size_t i = 0; i + 1 < plan.steps.size(); ++i) {
      const v1::Step decode = plan.steps[i].step;
      const v1::Step crop = plan.steps[i + 1].step;
      if (!CanFuseDecode(decode, crop)) continue;
      // The fused step takes the crop's place, and with it the crop's draws.
      HR_ASSIGN_OR_RETURN(plan.steps[i + 1].step, FuseDecodeWithCrop(decode, crop));
      plan.steps[i + 1].shown_as = fmt::format("{}+{}", decode.op(), crop.op());
      plan.steps.erase(plan.steps.begin() + static_cast<ptrdiff_t>(i));
      plan.rewrites.push_back(fmt::format("fused decode_image with {}: {}", crop.op(),
                                          crop.op() == "resize"
                                              ? "images are decoded no larger than needed"
                                              : "only the needed region is decoded"));
      changed = true;
    }
    return changed;
  }
};

}  // namespace

void Register_fuse_decode(PassList& passes) { passes.Add(std::make_unique<FuseDecode>()); }

}  // namespace headrace
