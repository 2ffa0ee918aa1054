// python_map: each record through a Python function, in subprocesses (pipeline/udf).
#include "pipeline/ops/python_step.h"

namespace headrace {

void Register_python_map(OpRegistry& registry) {
  registry.Add<PythonStepParams>(
      "python_map", "Each record, or stack of records, as a Python function returns it.",
      PythonParams(FunctionKind::kMap),
      [](PythonStepParams p) { return MakePythonStep(FunctionKind::kMap, std::move(p)); });
}

}  // namespace headrace
