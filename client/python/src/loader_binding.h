// `headrace._native.Cluster` and `Loader`: connections and streams. headrace/_cluster.py and
// _loader.py give them their Python faces.
#pragma once

#include <pybind11/pybind11.h>

namespace headrace::python {

void BindLoader(pybind11::module_& module);

}  // namespace headrace::python
