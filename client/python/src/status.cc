#include "client/python/src/status.h"

#include <string>

namespace py = pybind11;

namespace headrace::python {
namespace {

const char* ClassOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
      return "PipelineError";
    case absl::StatusCode::kNotFound:
      return "NotFoundError";
    case absl::StatusCode::kPermissionDenied:
      return "PermissionDeniedError";
    case absl::StatusCode::kUnauthenticated:
      return "UnauthenticatedError";
    case absl::StatusCode::kAlreadyExists:
      return "JobConflictError";
    case absl::StatusCode::kDataLoss:
      return "DataLossError";
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
      return "UnavailableError";
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kAborted:
      return "JobEndedError";
    case absl::StatusCode::kFailedPrecondition:
      return "ClosedError";
    case absl::StatusCode::kOutOfRange:
      return "EpochOverError";
    default:
      return "HeadraceError";
  }
}

}  // namespace

void Raise(const absl::Status& status) {
  py::object type = py::module_::import("headrace._errors").attr(ClassOf(status.code()));
  const std::string message(status.message());
  PyErr_SetString(type.ptr(), message.c_str());
  throw py::error_already_set();
}

}  // namespace headrace::python
