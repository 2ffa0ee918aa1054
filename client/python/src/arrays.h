// Tensors as NumPy arrays that borrow the frame: read-only, the frame lives as long as any array of
// it. Called with the GIL held.
#pragma once

#include <pybind11/pybind11.h>

#include "client/element.h"

namespace headrace::python {

// A field of an element. Numeric: ndarray. bfloat16: ml_dtypes' type where that is installed, else
// uint16 bits. Scalar bytes: bytes. Bytes with dimensions: headrace.BytesColumn (a sequence of
// bytes with .offsets and .data arrays).
pybind11::object ToPython(const Element& element, size_t field);
// All fields: dict[str, ...].
pybind11::dict ToDict(const Element& element);

}  // namespace headrace::python
