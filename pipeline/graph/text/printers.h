// PipelineDef -> YAML, Python and C++. Deterministic; what is printed as YAML reads back as the
// same PipelineDef (locations aside). Any thread.
//
// How a step becomes a Python method, which client/python follows (it makes its methods from the
// same OpSpecs): the method has the step's name; positional arguments are the parameters in their
// order, but `bare_param` first; keyword arguments are the parameters' names; a step with
// `map_param` takes **kwargs, or, where a name is no Python word or other parameters are given too,
// one dict: `.parse_example({"image": hr.bytes_}, field="example")`. Everything that is not source
// or step is given to `.options(name=, seed=, on_error=, max_errors=, optimize=)`.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "headrace/v1/pipeline.pb.h"
#include "pipeline/graph/op_registry.h"

namespace headrace {

// INVALID_ARGUMENT for what YAML can't say: a step that `ops` does not know, a parameter without a
// name, a step without the map that its `map_param` asks for.
absl::StatusOr<std::string> PrintYaml(const v1::PipelineDef& def, const OpRegistry& ops);
absl::StatusOr<std::string> PrintPython(const v1::PipelineDef& def, const OpRegistry& ops);
// The parameters in the order of Python's positional arguments.
std::vector<const ParamSpec*> PythonOrder(const OpSpec& spec);
// Code for PipelineBuilder (pipeline/graph/pipeline_builder.h): one expression.
std::string PrintCpp(const v1::PipelineDef& def);

}  // namespace headrace
