// headrace._native: a thin layer of bindings; every decision is in C++ below or in Python above.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "client/python/src/dlpack.h"
#include "client/python/src/loader_binding.h"
#include "client/python/src/pipeline_binding.h"
#include "client/python/src/worker_binding.h"

PYBIND11_MODULE(_native, module) {
  module.doc() = "Headrace's C++ core";
  module.attr("version") = HEADRACE_VERSION;
  headrace::python::BindPipeline(module);
  headrace::python::BindLoader(module);
  headrace::python::BindWorker(module);
  headrace::python::BindDLPack(module);
}
