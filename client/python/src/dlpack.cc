#include "client/python/src/dlpack.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/python/src/dlpack_abi.h"

namespace py = pybind11;

namespace headrace::python {
namespace {

using dlpack::DLDataType;
using dlpack::DLManagedTensor;
using dlpack::DLManagedTensorVersioned;

DLDataType TypeOf(const std::string& name) {
  const auto type = [](dlpack::Code code, int bits) {
    return DLDataType{code, static_cast<uint8_t>(bits), 1};
  };
  static const std::pair<const char*, DLDataType> kTypes[] = {
      {"bool", type(dlpack::kBool, 8)},        {"int8", type(dlpack::kInt, 8)},
      {"int16", type(dlpack::kInt, 16)},       {"int32", type(dlpack::kInt, 32)},
      {"int64", type(dlpack::kInt, 64)},       {"uint8", type(dlpack::kUInt, 8)},
      {"uint16", type(dlpack::kUInt, 16)},     {"uint32", type(dlpack::kUInt, 32)},
      {"uint64", type(dlpack::kUInt, 64)},     {"float16", type(dlpack::kFloat, 16)},
      {"bfloat16", type(dlpack::kBfloat, 16)}, {"float32", type(dlpack::kFloat, 32)},
      {"float64", type(dlpack::kFloat, 64)}};
  for (const auto& [known, value] : kTypes) {
    if (name == known) return value;
  }
  throw py::type_error("DLPack has no type for an array of " + name);
}

// What a capsule points to: the tensor, and what keeps its memory.
template <typename Managed>
struct Lent {
  Managed managed{};
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  PyObject* owner = nullptr;
};

template <typename Managed>
void Return(Managed* managed) {
  auto* lent = static_cast<Lent<Managed>*>(managed->manager_ctx);
  if (Py_IsInitialized() != 0) {
    const py::gil_scoped_acquire acquire;
    Py_DECREF(lent->owner);
  }
  delete lent;
}

template <typename Managed>
void ReturnUnused(PyObject* capsule, const char* name) {
  if (PyCapsule_IsValid(capsule, name) == 0) return;  // a consumer has taken it
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  managed->deleter(managed);
}

class DLPackArray {
 public:
  DLPackArray(py::array array, const std::string& type)
      : array_(std::move(array)), type_(TypeOf(type)) {
    if (array_.attr("itemsize").cast<int>() * 8 != type_.bits)
      throw py::type_error("an array of " + py::str(array_.attr("dtype")).cast<std::string>() +
                           " cannot be lent as " + type);
  }

  py::object Lend(const py::object& /*stream*/, std::optional<std::pair<int, int>> max_version,
                  const std::optional<std::pair<int, int>>& device,
                  std::optional<bool> copy) const {
    if (copy.value_or(false)) throw py::buffer_error("copy the array first: array.copy()");
    if (device && *device != Device()) throw py::buffer_error("the array is on the CPU");
    if (!max_version || max_version->first < 1) {
      auto lent = Make<DLManagedTensor>();
      return Capsule(lent.release(), "dltensor",
                     [](PyObject* capsule) { ReturnUnused<DLManagedTensor>(capsule, "dltensor"); });
    }
    auto lent = Make<DLManagedTensorVersioned>();
    lent->managed.version = {1, 0};
    lent->managed.flags = array_.writeable() ? 0 : dlpack::kReadOnly;
    return Capsule(lent.release(), "dltensor_versioned", [](PyObject* capsule) {
      ReturnUnused<DLManagedTensorVersioned>(capsule, "dltensor_versioned");
    });
  }
  static std::pair<int, int> Device() { return {dlpack::kCpu, 0}; }
  const py::array& array() const { return array_; }

 private:
  template <typename Managed>
  std::unique_ptr<Lent<Managed>> Make() const {
    auto lent = std::make_unique<Lent<Managed>>();
    const int item_bytes = type_.bits / 8;
    for (py::ssize_t i = 0; i < array_.ndim(); ++i) {
      lent->shape.push_back(array_.shape(i));
      lent->strides.push_back(array_.strides(i) / item_bytes);
    }
    dlpack::DLTensor& tensor = lent->managed.dl_tensor;
    tensor.data = const_cast<void*>(array_.data());
    tensor.device = {dlpack::kCpu, 0};
    tensor.ndim = static_cast<int32_t>(array_.ndim());
    tensor.dtype = type_;
    tensor.shape = lent->shape.data();
    tensor.strides = lent->strides.data();
    lent->owner = array_.ptr();
    Py_INCREF(lent->owner);
    lent->managed.manager_ctx = lent.get();
    lent->managed.deleter = &Return<Managed>;
    return lent;
  }
  template <typename Managed>
  static py::object Capsule(Lent<Managed>* lent, const char* name, PyCapsule_Destructor destroy) {
    PyObject* capsule = PyCapsule_New(&lent->managed, name, destroy);
    if (capsule == nullptr) {
      lent->managed.deleter(&lent->managed);
      throw py::error_already_set();
    }
    return py::reinterpret_steal<py::object>(capsule);
  }

  py::array array_;
  DLDataType type_;
};

}  // namespace

void BindDLPack(py::module_& module) {
  py::class_<DLPackArray>(module, "DLPackArray", "An array that any DLPack consumer takes.")
      .def(py::init<py::array, std::string>(), py::arg("array"), py::arg("dtype"))
      .def("__dlpack__", &DLPackArray::Lend, py::kw_only(), py::arg("stream") = py::none(),
           py::arg("max_version") = py::none(), py::arg("dl_device") = py::none(),
           py::arg("copy") = py::none())
      .def("__dlpack_device__", [](const DLPackArray&) { return DLPackArray::Device(); })
      .def_property_readonly("array", &DLPackArray::array);
}

}  // namespace headrace::python
