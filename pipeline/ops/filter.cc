// filter: keeps the rows for which a condition holds (pipeline/expression/expression.h has the
// language).
#include <optional>
#include <utility>

#include "common/status.h"
#include "pipeline/expression/expression.h"
#include "pipeline/graph/op_registry.h"

namespace headrace {
namespace {

struct FilterParams {
  std::string where;
};

class Filter final : public StatelessOp {
 public:
  explicit Filter(FilterParams params) : params_(std::move(params)) {
    // A text that is wrong is Bind's to tell.
    if (auto fields = Condition::FieldsOf(params_.where); fields.ok()) fields_ = *std::move(fields);
  }

  absl::StatusOr<Schema> Bind(const Schema& input) override {
    absl::StatusOr<Condition> condition = Condition::Compile(params_.where, input);
    if (!condition.ok()) return Annotate(condition.status(), "where");
    condition_.emplace(*std::move(condition));
    return input;
  }
  OpTraits traits() const override {
    OpTraits traits;
    traits.one_to_one = false;
    traits.fields = fields_;
    return traits;
  }

  absl::Status Run(Block& block, const StepContext&) const override {
    std::vector<uint8_t> holds;
    std::vector<std::pair<size_t, absl::Status>> failed;
    condition_->Evaluate(block, holds, [&failed](size_t row, absl::Status why) {
      failed.emplace_back(row, std::move(why));
    });
    for (size_t row = 0; row < holds.size(); ++row) {
      if (holds[row] == 0) block.Filter(row);
    }
    for (auto& [row, why] : failed) block.Fail(row, Annotate(why, "filter"));
    return absl::OkStatus();
  }

 private:
  FilterParams params_;
  std::optional<std::vector<std::string>> fields_;
  std::optional<Condition> condition_;
};

}  // namespace

void Register_filter(OpRegistry& registry) {
  ParamSet<FilterParams> params;
  params.Required("where", &FilterParams::where,
                  "condition on single values, like \"label != 3 && length(text) > 10\": and or "
                  "not, == != < <= > >=, "
                  "+ - * / %, length shape contains starts_with ends_with matches min max abs");
  registry
      .Add<FilterParams>("filter", "Keep the rows for which a condition holds.", std::move(params),
                         [](FilterParams p) -> absl::StatusOr<std::unique_ptr<Op>> {
                           return std::make_unique<Filter>(std::move(p));
                         })
      .bare_param = "where";
}

}  // namespace headrace
