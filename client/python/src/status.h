// absl::Status as the exceptions of headrace._errors. Called with the GIL held.
#pragma once

#include <pybind11/pybind11.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace headrace::python {

// Raises the HeadraceError subclass that stands for the code, with the status's message as its one
// line.
[[noreturn]] void Raise(const absl::Status& status);
inline void RaiseIfError(const absl::Status& status) {
  if (!status.ok()) Raise(status);
}
template <typename T>
T ValueOrRaise(absl::StatusOr<T> value) {
  if (!value.ok()) Raise(value.status());
  return *std::move(value);
}

}  // namespace headrace::python
