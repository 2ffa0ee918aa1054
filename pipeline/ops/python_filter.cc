// python_filter: a Python function says which records stay.
#include "pipeline/ops/python_step.h"

namespace headrace {

void Register_python_filter(OpRegistry& registry) {
  registry.Add<PythonStepParams>(
      "python_filter", "Keep the records for which a Python function returns True.",
      PythonParams(FunctionKind::kFilter),
      [](PythonStepParams p) { return MakePythonStep(FunctionKind::kFilter, std::move(p)); });
}

}  // namespace headrace
