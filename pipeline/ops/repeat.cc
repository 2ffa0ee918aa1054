// repeat: several passes over the source in one epoch. The passes are made where splits are handed
// out (a record's identity has its pass), so the step itself lets rows through.
#include <utility>

#include "common/status.h"
#include "pipeline/graph/op_registry.h"

namespace headrace {
namespace {

struct RepeatParams {
  int64_t count = 1;
};

class Repeat final : public StatelessOp {
 public:
  absl::StatusOr<Schema> Bind(const Schema& input) override { return input; }
  OpTraits traits() const override { return {.one_to_one = false}; }
  absl::Status Run(Block&, const StepContext&) const override { return absl::OkStatus(); }
};

}  // namespace

void Register_repeat(OpRegistry& registry) {
  ParamSet<RepeatParams> params;
  params.Required("count", &RepeatParams::count,
                  "how many times the source is read in each epoch, 1 or more");
  registry
      .Add<RepeatParams>(
          "repeat",
          "The source is read COUNT times in each epoch; must stand before batch, take and skip.",
          std::move(params),
          [](RepeatParams p) -> absl::StatusOr<std::unique_ptr<Op>> {
            if (p.count < 1) return InvalidArgument("count: expected 1 or more, got {}", p.count);
            return std::make_unique<Repeat>();
          })
      .bare_param = "count";
}

}  // namespace headrace
