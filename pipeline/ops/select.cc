// select: keep only the named fields, in the given order.
#include <utility>

#include "common/status.h"
#include "pipeline/graph/op_registry.h"

namespace headrace {
namespace {

struct SelectParams {
  std::vector<std::string> fields;
};

class Select final : public StatelessOp {
 public:
  explicit Select(SelectParams params) : params_(std::move(params)) {}

  absl::StatusOr<Schema> Bind(const Schema& input) override {
    Schema out;
    for (const std::string& name : params_.fields) {
      HR_ASSIGN_OR_RETURN(const size_t at, input.Require(name));
      if (out.Find(name) != Schema::kNone)
        return InvalidArgument("field '{}' is selected twice", name);
      from_.push_back(at);
      out.Add(input[at]);
    }
    return out;
  }

  absl::Status Run(Block& block, const StepContext&) const override {
    std::vector<std::vector<Cell>> kept;
    kept.reserve(from_.size());
    for (size_t at : from_) kept.push_back(std::move(block.column(at)));
    block.columns() = std::move(kept);
    return absl::OkStatus();
  }

 private:
  SelectParams params_;
  std::vector<size_t> from_;
};

}  // namespace

void Register_select(OpRegistry& registry) {
  ParamSet<SelectParams> params;
  params.Required("fields", &SelectParams::fields, "names of the fields to keep");
  registry
      .Add<SelectParams>("select", "Keep only the named fields, in the given order.",
                         std::move(params),
                         [](SelectParams p) -> absl::StatusOr<std::unique_ptr<Op>> {
                           return std::make_unique<Select>(std::move(p));
                         })
      .bare_param = "fields";
}

}  // namespace headrace
