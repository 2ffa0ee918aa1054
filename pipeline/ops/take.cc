// take: the first `count` rows of the epoch; the rest are settled without output.
#include <algorithm>
#include <utility>

#include "common/status.h"
#include "pipeline/graph/op_registry.h"

namespace headrace {
namespace {

struct TakeParams {
  int64_t count = 0;
};

// Counts over all of a task's splits: Finish does not start it anew, or a task that gets more
// splits would take more.
class TakeState final : public OpState {
 public:
  explicit TakeState(size_t count) : left_(count) {}

  absl::Status Push(Block block, Emit emit) override {
    const size_t kept = std::min(left_, block.rows());
    for (size_t row = kept; row < block.rows(); ++row) block.Filter(row);
    left_ -= kept;
    block.Compact();
    emit(std::move(block));
    return absl::OkStatus();
  }
  absl::Status Finish(Emit) override { return absl::OkStatus(); }
  bool satisfied() const override { return left_ == 0; }

 private:
  size_t left_;
};

class Take final : public StatefulOp {
 public:
  explicit Take(TakeParams params) : params_(params) {}
  absl::StatusOr<Schema> Bind(const Schema& input) override { return input; }
  OpTraits traits() const override { return {.one_to_one = false, .global_order = true}; }
  std::unique_ptr<OpState> NewState(const StepContext&) const override {
    return std::make_unique<TakeState>(static_cast<size_t>(params_.count));
  }

 private:
  TakeParams params_;
};

}  // namespace

void Register_take(OpRegistry& registry) {
  ParamSet<TakeParams> params;
  params.Required("count", &TakeParams::count, "how many rows of each epoch to keep, 0 or more");
  registry
      .Add<TakeParams>("take", "Keep the first COUNT rows of the epoch.", std::move(params),
                       [](TakeParams p) -> absl::StatusOr<std::unique_ptr<Op>> {
                         if (p.count < 0)
                           return InvalidArgument("count: expected 0 or more, got {}", p.count);
                         return std::make_unique<Take>(p);
                       })
      .bare_param = "count";
}

}  // namespace headrace
