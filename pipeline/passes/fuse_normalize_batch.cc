// normalize whose rows go into a batch, at once or through shuffles: the floats are written into
// the batch. Until then a pixel is a byte, so that queues and shuffle buffers hold four times as
// many.
#include "pipeline/graph/passes/pass.h"
#include "pipeline/ops/fuse_normalize.h"

namespace headrace {
namespace {

class FuseNormalizeBatch final : public Pass {
 public:
  std::string_view name() const override { return "fuse_normalize_batch"; }
  std::string_view help() const override {
    return "normalize before batch writes its floats into the batch";
  }

  absl::StatusOr<bool> Apply(Plan& plan, const OpRegistry&) const override {
    bool changed = false;
    for (size_t i = 0; i < plan.steps.size(); ++i) {
      if (plan.steps[i].step.op() != "normalize") continue;
      // A shuffle looks at no field, so that rows may pass it as they are.
      size_t batch = i + 1;
      while (batch < plan.steps.size() && plan.steps[batch].step.op() == "shuffle") ++batch;
      if (batch == plan.steps.size() || plan.steps[batch].step.op() != "batch") continue;
      plan.steps[batch].step = FuseNormalizeWithBatch(plan.steps[i].step, plan.steps[batch].step);
      plan.steps.erase(plan.steps.begin() + static_cast<ptrdiff_t>(i));
      plan.rewrites.push_back(
          "fused normalize into batch: pixels become floats when they are written into a batch");
      changed = true;
    }
    return changed;
  }
};

}  // namespace

void Register_fuse_normalize_batch(PassList& passes) {
  passes.Add(std::make_unique<FuseNormalizeBatch>());
}

}  // namespace headrace
