// python_flat_map: a Python function cuts each record into none, one or several.
#include "pipeline/ops/python_step.h"

namespace headrace {

void Register_python_flat_map(OpRegistry& registry) {
  registry.Add<PythonStepParams>(
      "python_flat_map",
      "The dicts that a Python function returns for each record: none, one or many.",
      PythonParams(FunctionKind::kFlatMap),
      [](PythonStepParams p) { return MakePythonStep(FunctionKind::kFlatMap, std::move(p)); });
}

}  // namespace headrace
