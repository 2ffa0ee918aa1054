// skip: leave the first `count` rows of the epoch out; they are settled without output.
#include <algorithm>
#include <utility>

#include "common/status.h"
#include "pipeline/graph/op_registry.h"

namespace headrace {
namespace {

struct SkipParams {
  int64_t count = 0;
};

// Counts over all of a task's splits: Finish does not start it anew.
class SkipState final : public OpState {
 public:
  explicit SkipState(size_t count) : left_(count) {}

  absl::Status Push(Block block, Emit emit) override {
    const size_t skipped = std::min(left_, block.rows());
    for (size_t row = 0; row < skipped; ++row) block.Filter(row);
    left_ -= skipped;
    block.Compact();
    emit(std::move(block));
    return absl::OkStatus();
  }
  absl::Status Finish(Emit) override { return absl::OkStatus(); }

 private:
  size_t left_;
};

class Skip final : public StatefulOp {
 public:
  explicit Skip(SkipParams params) : params_(params) {}
  absl::StatusOr<Schema> Bind(const Schema& input) override { return input; }
  OpTraits traits() const override { return {.one_to_one = false, .global_order = true}; }
  std::unique_ptr<OpState> NewState(const StepContext&) const override {
    return std::make_unique<SkipState>(static_cast<size_t>(params_.count));
  }

 private:
  SkipParams params_;
};

}  // namespace

void Register_skip(OpRegistry& registry) {
  ParamSet<SkipParams> params;
  params.Required("count", &SkipParams::count,
                  "how many rows at the start of each epoch to leave out, 0 or more");
  registry
      .Add<SkipParams>("skip", "Leave the first COUNT rows of the epoch out.", std::move(params),
                       [](SkipParams p) -> absl::StatusOr<std::unique_ptr<Op>> {
                         if (p.count < 0)
                           return InvalidArgument("count: expected 0 or more, got {}", p.count);
                         return std::make_unique<Skip>(p);
                       })
      .bare_param = "count";
}

}  // namespace headrace
