// Arrays as DLPack capsules that every consumer takes: NumPy itself refuses to lend a read-only
// array to those that do not speak DLPack 1.0, and knows no bfloat16. Called with the GIL held; a
// consumer may let its tensor go from any thread.
#pragma once

#include <pybind11/pybind11.h>

namespace headrace::python {

// `headrace._native.DLPackArray`: an array lent by __dlpack__ and __dlpack_device__.
void BindDLPack(pybind11::module_& module);

}  // namespace headrace::python
