#include "pipeline/ops/python_step.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/time/time.h"
#include "common/status.h"
#include "pipeline/udf/function_spec.h"

namespace headrace {
namespace {

class PythonStep final : public AsyncOp {
 public:
  PythonStep(FunctionSpec spec, std::vector<std::string> fields)
      : spec_(std::move(spec)), fields_(std::move(fields)) {}

  absl::StatusOr<Schema> Bind(const Schema& input) override {
    HR_ASSIGN_OR_RETURN(udf::ColumnPlan plan, udf::ColumnPlan::Make(input, fields_, spec_));
    plan_ = std::make_shared<const udf::ColumnPlan>(std::move(plan));
    return *plan_->schema;
  }

  OpTraits traits() const override {
    OpTraits traits;
    traits.random = spec_.random;
    traits.one_to_one = spec_.kind == FunctionKind::kMap;
    traits.cuts_records = spec_.kind == FunctionKind::kFlatMap;
    return traits;
  }

  absl::StatusOr<std::unique_ptr<AsyncSession>> Open(const StepContext& context) const override {
    if (context.functions == nullptr) {
      return FailedPrecondition(
          "Python functions run on workers: with `--cluster`, or in a cluster of Python's "
          "hr.local()");
    }
    return context.functions->Open(spec_, plan_, context);
  }

 private:
  FunctionSpec spec_;
  const std::vector<std::string> fields_;
  std::shared_ptr<const udf::ColumnPlan> plan_;
};

absl::StatusOr<absl::Duration> ParseTimeout(const std::string& text) {
  absl::Duration timeout;
  double seconds = 0;
  if (absl::SimpleAtod(text, &seconds)) {
    timeout = absl::Seconds(seconds);
  } else if (!absl::ParseDuration(text, &timeout)) {
    return InvalidArgument("timeout: '{}' is no duration like 500ms, 10s or 2m", text);
  }
  if (timeout < absl::Milliseconds(1))
    return InvalidArgument("timeout: {} is less than 1ms", absl::FormatDuration(timeout));
  return timeout;
}

absl::Status CheckName(const std::string& function) {
  const size_t colon = function.find(':');
  const std::string_view module = std::string_view(function).substr(0, colon);
  if (colon == std::string::npos || module.empty() || colon + 1 == function.size() ||
      function.find_first_of(" \t\n/\\") != std::string::npos) {
    return InvalidArgument(
        "function: '{}' is not like package.module:function (the module as Python imports it)",
        function);
  }
  return absl::OkStatus();
}

}  // namespace

ParamSet<PythonStepParams> PythonParams(FunctionKind kind) {
  using P = PythonStepParams;
  ParamSet<P> params;
  params.Required("function", &P::function,
                  "module:function, imported by the worker's Python; gets a dict of the record's "
                  "fields, as NumPy arrays, numbers and bytes");
  if (kind != FunctionKind::kFlatMap) {
    params.Optional("batched", &P::batched,
                    "the function gets many records at once, each field stacked; how many may "
                    "differ from call to call (after `batch`: the batch as it is)");
  }
  params.Optional("fields", &P::fields,
                  "fields that the function gets; the others pass by it untouched (default: all)");
  if (kind != FunctionKind::kFilter) {
    params.Optional(
        "returns", &P::returns,
        "map of field to type (int64, float32[4], uint8[?, ?, 3], bytes): all that the "
        "function returns, in place of what it gets (default: the same fields and types)");
  }
  params
      .Optional("requires", &P::needs,
                "packages that the worker's Python must have, like numpy>=1.20; checked when the "
                "step starts")
      .Optional("timeout", &P::timeout,
                "of one call; then its process is ended, and the record has failed")
      .Optional("processes", &P::processes,
                "subprocesses on each worker (0: udf_processes of its config)")
      .Optional("random", &P::random,
                "the function takes `rng`, a NumPy Generator keyed by seed, epoch and record")
      .Optional("pickled", &P::pickled,
                "what cloudpickle makes of the function, in base64: set by Python's map(), not by "
                "hand");
  return params;
}

absl::StatusOr<std::unique_ptr<Op>> MakePythonStep(FunctionKind kind, PythonStepParams params) {
  FunctionSpec spec;
  spec.kind = kind;
  if (params.pickled.empty()) HR_RETURN_IF_ERROR(CheckName(params.function));
  spec.function = std::move(params.function);
  spec.pickled = std::move(params.pickled);
  spec.batched = params.batched;
  spec.random = params.random;
  spec.needs = std::move(params.needs);
  HR_ASSIGN_OR_RETURN(spec.timeout, ParseTimeout(params.timeout));
  if (params.processes < 0 || params.processes > 1024)
    return InvalidArgument("processes: {} is not between 0 and 1024", params.processes);
  spec.processes = static_cast<size_t>(params.processes);
  for (const auto& [name, type] : params.returns) {
    absl::StatusOr<Field> field = ParseReturnedField(name, type);
    if (!field.ok()) return Annotate(field.status(), fmt::format("returns: {}", name));
    spec.outputs.push_back(*std::move(field));
  }
  return std::make_unique<PythonStep>(std::move(spec), std::move(params.fields));
}

}  // namespace headrace
