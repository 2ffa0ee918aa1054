#include "client/python/src/arrays.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <memory>
#include <string>
#include <vector>

namespace py = pybind11;

namespace headrace::python {
namespace {

py::dtype NumpyType(DType dtype) {
  if (dtype != DType::kBFloat16) return py::dtype(std::string(Name(dtype)));
  try {
    return py::dtype::from_args(py::module_::import("ml_dtypes").attr("bfloat16"));
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_ImportError)) throw;
    return py::dtype("uint16");
  }
}

py::capsule Keep(const std::shared_ptr<const FrameView>& frame) {
  return py::capsule(new std::shared_ptr<const FrameView>(frame),
                     [](void* p) { delete static_cast<std::shared_ptr<const FrameView>*>(p); });
}

py::array ReadOnly(py::array array) {
  array.attr("flags").attr("writeable") = false;
  return array;
}

}  // namespace

py::object ToPython(const Element& element, size_t field) {
  const TensorView tensor = element.at(field);
  if (tensor.dtype == DType::kBytes) {
    if (tensor.shape.rank() == 0) {
      const std::string_view text = tensor.string();
      return py::bytes(text.data(), text.size());
    }
    const auto items = static_cast<py::ssize_t>(tensor.shape.items());
    const int64_t first = tensor.offsets[0];
    const py::capsule keep = Keep(element.frame());
    const py::array offsets =
        ReadOnly(py::array(py::dtype::of<int64_t>(), {items + 1}, {}, tensor.offsets, keep));
    const py::array data = ReadOnly(py::array(
        py::dtype::of<uint8_t>(), {static_cast<py::ssize_t>(tensor.offsets[items] - first)}, {},
        tensor.data + first, keep));
    std::vector<int64_t> dims(tensor.shape.dims().begin(), tensor.shape.dims().end());
    return py::module_::import("headrace._bytes")
        .attr("BytesColumn")(offsets, data, py::tuple(py::cast(dims)));
  }
  std::vector<py::ssize_t> dims(tensor.shape.dims().begin(), tensor.shape.dims().end());
  return ReadOnly(py::array(NumpyType(tensor.dtype), dims, {}, tensor.data, Keep(element.frame())));
}

py::dict ToDict(const Element& element) {
  py::dict out;
  for (size_t i = 0; i < element.size(); ++i) {
    const std::string_view name = element.name(i);
    out[py::str(name.data(), name.size())] = ToPython(element, i);
  }
  return out;
}

}  // namespace headrace::python
