// rename: give fields other names, all at once (so that two may swap). Costs nothing per row.
#include <utility>

#include "common/status.h"
#include "pipeline/graph/op_registry.h"

namespace headrace {
namespace {

struct RenameParams {
  StringMap fields;
};

class Rename final : public StatelessOp {
 public:
  explicit Rename(RenameParams params) : params_(std::move(params)) {}

  absl::StatusOr<Schema> Bind(const Schema& input) override {
    Schema out = input;
    for (const auto& [from, to] : params_.fields) {
      HR_ASSIGN_OR_RETURN(const size_t at, input.Require(from));
      if (to.empty()) return InvalidArgument("the new name of field '{}' is empty", from);
      out[at].name = to;
    }
    for (size_t i = 0; i < out.size(); ++i) {
      if (out.Find(out[i].name) == i) continue;
      const std::string& first = input[out.Find(out[i].name)].name;
      return InvalidArgument("'{}' and '{}' would both be called '{}'", first, input[i].name,
                             out[i].name);
    }
    return out;
  }

  absl::Status Run(Block&, const StepContext&) const override { return absl::OkStatus(); }

 private:
  RenameParams params_;
};

}  // namespace

void Register_rename(OpRegistry& registry) {
  ParamSet<RenameParams> params;
  params.Required("fields", &RenameParams::fields, "map of the old name to the new one");
  registry
      .Add<RenameParams>("rename", "Give fields other names.", std::move(params),
                         [](RenameParams p) -> absl::StatusOr<std::unique_ptr<Op>> {
                           return std::make_unique<Rename>(std::move(p));
                         })
      .map_param = "fields";
}

}  // namespace headrace
