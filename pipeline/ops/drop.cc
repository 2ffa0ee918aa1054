// drop: leave the named fields out; the others keep their order.
#include <algorithm>
#include <utility>

#include "common/status.h"
#include "pipeline/graph/op_registry.h"

namespace headrace {
namespace {

struct DropParams {
  std::vector<std::string> fields;
};

class Drop final : public StatelessOp {
 public:
  explicit Drop(DropParams params) : params_(std::move(params)) {}

  absl::StatusOr<Schema> Bind(const Schema& input) override {
    std::vector<bool> dropped(input.size(), false);
    for (const std::string& name : params_.fields) {
      HR_ASSIGN_OR_RETURN(const size_t at, input.Require(name));
      if (dropped[at]) return InvalidArgument("field '{}' is dropped twice", name);
      dropped[at] = true;
    }
    Schema out;
    for (size_t i = 0; i < input.size(); ++i) {
      if (dropped[i]) continue;
      kept_.push_back(i);
      out.Add(input[i]);
    }
    if (out.size() == 0) return InvalidArgument("drop leaves no field of {}", input.ToString());
    return out;
  }

  OpTraits traits() const override {
    OpTraits traits;
    traits.fields = params_.fields;
    return traits;
  }

  absl::Status Run(Block& block, const StepContext&) const override {
    std::vector<std::vector<Cell>> kept;
    kept.reserve(kept_.size());
    for (size_t at : kept_) kept.push_back(std::move(block.column(at)));
    block.columns() = std::move(kept);
    return absl::OkStatus();
  }

 private:
  DropParams params_;
  std::vector<size_t> kept_;  // input positions
};

}  // namespace

void Register_drop(OpRegistry& registry) {
  ParamSet<DropParams> params;
  params.Required("fields", &DropParams::fields, "names of the fields to leave out");
  registry
      .Add<DropParams>("drop", "Leave the named fields out.", std::move(params),
                       [](DropParams p) -> absl::StatusOr<std::unique_ptr<Op>> {
                         return std::make_unique<Drop>(std::move(p));
                       })
      .bare_param = "fields";
}

}  // namespace headrace
