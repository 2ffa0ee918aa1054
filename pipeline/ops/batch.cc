// batch: `size` rows become one, every field with a new dimension in front. Rows are copied once,
// straight into the memory that the batch leaves in.
#include <utility>

#include "common/status.h"
#include "pipeline/graph/op_registry.h"
#include "pipeline/ops/batching.h"

namespace headrace {
namespace {

class Batch final : public StatefulOp {
 public:
  explicit Batch(BatchParams params) : params_(params) {}

  absl::StatusOr<Schema> Bind(const Schema& input) override {
    HR_ASSIGN_OR_RETURN(const Schema out, BatchSchema(input, params_));
    input_ = std::make_shared<const Schema>(input);
    output_ = std::make_shared<const Schema>(out);
    return out;
  }
  OpTraits traits() const override { return {.one_to_one = false, .emits_batches = true}; }
  std::unique_ptr<OpState> NewState(const StepContext& context) const override {
    return NewBatchState(input_, output_, params_, context.memory);
  }

 private:
  BatchParams params_;
  SchemaPtr input_;
  SchemaPtr output_;
};

}  // namespace

void Register_batch(OpRegistry& registry) {
  ParamSet<BatchParams> params;
  params.Required("size", &BatchParams::size, "rows in a batch, 1 or more")
      .Optional("drop_remainder", &BatchParams::drop_remainder,
                "leave out the last rows when they do not fill a batch; the first dimension is "
                "then static");
  registry
      .Add<BatchParams>("batch",
                        "SIZE rows of equal shapes become one, with a new first dimension.",
                        std::move(params),
                        [](BatchParams p) -> absl::StatusOr<std::unique_ptr<Op>> {
                          HR_RETURN_IF_ERROR(CheckBatchSize(p.size));
                          return std::make_unique<Batch>(p);
                        })
      .bare_param = "size";
}

}  // namespace headrace
