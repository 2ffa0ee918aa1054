// A LoaderState as a dict of plain types (int, str, bytes) with fixed keys, and back. With the GIL.
#pragma once

#include <pybind11/pybind11.h>

#include "headrace/v1/loader_state.pb.h"

namespace headrace::python {

pybind11::dict StateToDict(const v1::LoaderState& state);
// Raises ValueError (PipelineError) for what StateToDict does not make.
v1::LoaderState StateFromDict(const pybind11::handle& object);

}  // namespace headrace::python
