// What the steps share that call a Python function: their parameters, and the step itself.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/graph/op.h"
#include "pipeline/graph/op_registry.h"
#include "pipeline/udf/function_pool.h"
#include "pipeline/udf/job.h"

namespace headrace {

struct PythonStepParams {
  std::string function;
  std::string pickled;
  bool batched = false;
  std::vector<std::string> fields;
  StringMap returns;
  std::vector<std::string> needs;
  std::string timeout = "60s";
  int64_t processes = 0;
  bool random = false;
};

// The parameters that all of them have. `what` the function is given and returns.
ParamSet<PythonStepParams> PythonParams(FunctionKind kind);

absl::StatusOr<std::unique_ptr<Op>> MakePythonStep(FunctionKind kind, PythonStepParams params);

}  // namespace headrace
