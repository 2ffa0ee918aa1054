#include "client/python/src/values.h"

#include <string>

namespace py = pybind11;

namespace headrace::python {
namespace {

bool IsSequence(const py::handle& object) {
  return py::isinstance<py::list>(object) || py::isinstance<py::tuple>(object);
}

}  // namespace

v1::Value ToValue(const py::handle& object) {
  v1::Value value;
  if (object.is_none()) {
    value.set_none(true);
  } else if (py::isinstance<py::bool_>(object)) {
    value.set_boolean(object.cast<bool>());
  } else if (py::isinstance<py::int_>(object)) {
    value.set_integer(object.cast<int64_t>());
  } else if (py::isinstance<py::float_>(object)) {
    value.set_number(object.cast<double>());
  } else if (py::isinstance<py::str>(object) || py::isinstance<py::bytes>(object)) {
    value.set_text(object.cast<std::string>());
  } else if (py::isinstance<py::dict>(object)) {
    *value.mutable_map() = ToValueMap(py::reinterpret_borrow<py::dict>(object));
  } else if (IsSequence(object)) {
    value.mutable_list();
    for (const py::handle& item : object) *value.mutable_list()->add_items() = ToValue(item);
  } else if (py::hasattr(object, "tolist")) {
    return ToValue(object.attr("tolist")());  // NumPy's scalars and arrays, without depending on it
  } else {
    throw py::type_error("a parameter must be None, a number, text, a list or a dict, not " +
                         py::str(py::type::of(object)).cast<std::string>());
  }
  return value;
}

v1::ValueMap ToValueMap(const py::dict& dict) {
  v1::ValueMap map;
  for (const auto& [key, item] : dict) {
    v1::NamedValue* entry = map.add_entries();
    entry->set_name(py::str(key).cast<std::string>());
    *entry->mutable_value() = ToValue(item);
  }
  return map;
}

}  // namespace headrace::python
