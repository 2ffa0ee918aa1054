#include "client/python/src/arrays.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/python/src/forks.h"

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

struct Borrowed {
  std::shared_ptr<const FrameView> frame;
  Birthplace birthplace;
};

py::capsule Keep(const std::shared_ptr<const FrameView>& frame) {
  return py::capsule(new Borrowed{frame, {}}, [](void* p) {
    auto* borrowed = static_cast<Borrowed*>(p);
    // After a fork the frame is the parent's to give back (a ring's slot, a pool's buffer).
    if (!borrowed->birthplace.forked_since()) delete borrowed;
  });
}

// The strides are said here: pybind11 2.10 would read the item size at NumPy 1's place.
py::array ReadOnly(const py::dtype& type, size_t item_bytes, std::vector<py::ssize_t> dims,
                   const void* data, const py::capsule& keep) {
  std::vector<py::ssize_t> strides(dims.size());
  auto stride = static_cast<py::ssize_t>(item_bytes);
  for (size_t i = dims.size(); i-- > 0; stride *= dims[i]) strides[i] = stride;
  py::array array(type, std::move(dims), std::move(strides), data, keep);
  py::detail::array_proxy(array.ptr())->flags &= ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
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
        ReadOnly(py::dtype::of<int64_t>(), sizeof(int64_t), {items + 1}, tensor.offsets, keep);
    const py::array data = ReadOnly(py::dtype::of<uint8_t>(), 1,
                                    {static_cast<py::ssize_t>(tensor.offsets[items] - first)},
                                    tensor.data + first, keep);
    std::vector<int64_t> dims(tensor.shape.dims().begin(), tensor.shape.dims().end());
    return py::module_::import("headrace._bytes")
        .attr("BytesColumn")(offsets, data, py::tuple(py::cast(dims)));
  }
  std::vector<py::ssize_t> dims(tensor.shape.dims().begin(), tensor.shape.dims().end());
  return ReadOnly(NumpyType(tensor.dtype), ItemSize(tensor.dtype), std::move(dims), tensor.data,
                  Keep(element.frame()));
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
