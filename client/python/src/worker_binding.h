// headrace._native.Worker: a worker in this process, for headrace._local_worker alone.
#pragma once

#include <pybind11/pybind11.h>

namespace headrace::python {

void BindWorker(pybind11::module_& module);

}  // namespace headrace::python
