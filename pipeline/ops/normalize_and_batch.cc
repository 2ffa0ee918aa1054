// _normalize_and_batch: what normalize and a batch after it do, with the floats written once, into
// the batch. Put into pipelines by the optimizer (fuse_normalize.h), never by users.
#include <utility>

#include "common/status.h"
#include "pipeline/graph/op_registry.h"
#include "pipeline/ops/batching.h"
#include "pipeline/ops/fuse_normalize.h"
#include "pipeline/ops/pixel_scaling.h"

namespace headrace {
namespace {

constexpr std::string_view kName = "_normalize_and_batch";

struct NormalizeAndBatchParams : NormalizeParams, BatchParams {};

class NormalizeAndBatch final : public StatefulOp {
 public:
  NormalizeAndBatch(BatchParams params, PixelScaling scaling)
      : params_(params), scaling_(std::make_shared<PixelScaling>(std::move(scaling))) {}

  absl::StatusOr<Schema> Bind(const Schema& input) override {
    HR_ASSIGN_OR_RETURN(const Schema rows, scaling_->Bind(input));
    HR_ASSIGN_OR_RETURN(const Schema out, BatchSchema(rows, params_));
    rows_ = std::make_shared<const Schema>(rows);
    output_ = std::make_shared<const Schema>(out);
    return out;
  }
  OpTraits traits() const override { return {.one_to_one = false, .emits_batches = true}; }
  std::unique_ptr<OpState> NewState(const StepContext& context) const override {
    return NewBatchState(rows_, output_, params_, context.memory, scaling_);
  }

 private:
  BatchParams params_;
  std::shared_ptr<PixelScaling> scaling_;  // changed by Bind only
  SchemaPtr rows_;
  SchemaPtr output_;
};

absl::StatusOr<std::unique_ptr<Op>> MakeNormalizeAndBatch(NormalizeAndBatchParams params) {
  HR_RETURN_IF_ERROR(CheckBatchSize(params.size));
  HR_ASSIGN_OR_RETURN(PixelScaling scaling, PixelScaling::Make(params));
  return std::make_unique<NormalizeAndBatch>(params, std::move(scaling));
}

}  // namespace

v1::Step FuseNormalizeWithBatch(const v1::Step& normalize, const v1::Step& batch) {
  v1::Step fused = batch;
  fused.set_op(std::string(kName));
  for (const v1::NamedValue& entry : normalize.params().entries())
    *fused.mutable_params()->add_entries() = entry;
  return fused;
}

void Register_normalize_and_batch(OpRegistry& registry) {
  ParamSet<NormalizeAndBatchParams> params;
  params.Required<std::string>("field", &NormalizeParams::field, "of normalize")
      .Optional<std::vector<double>>("mean", &NormalizeParams::mean, "of normalize")
      .Optional<std::vector<double>>("std", &NormalizeParams::std, "of normalize")
      .Optional<std::optional<double>>("scale", &NormalizeParams::scale, "of normalize")
      .Optional<std::string>("layout", &NormalizeParams::layout, "of normalize")
      .Required<int64_t>("size", &BatchParams::size, "of batch")
      .Optional<bool>("drop_remainder", &BatchParams::drop_remainder, "of batch");
  registry
      .Add<NormalizeAndBatchParams>(std::string(kName),
                                    "Pixels become floats as they are written into a batch.",
                                    std::move(params), MakeNormalizeAndBatch)
      .internal = true;
}

}  // namespace headrace
