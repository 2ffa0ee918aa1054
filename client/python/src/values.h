// Python objects -> parameter values: None, bool, int, float, str, bytes, lists, tuples, NumPy
// scalars and arrays, dicts.
#pragma once

#include <pybind11/pybind11.h>

#include "headrace/v1/pipeline.pb.h"

namespace headrace::python {

// TypeError for anything else; OverflowError for integers beyond 64 bits.
v1::Value ToValue(const pybind11::handle& object);
v1::ValueMap ToValueMap(const pybind11::dict& dict);

}  // namespace headrace::python
