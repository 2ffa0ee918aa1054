// Status plumbing shared by every room: the tree's only two macros, and context added at a room's
// border.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fmt/core.h"

namespace headrace {

// absl::Status with a formatted message: InvalidArgument("{}: field '{}' is missing", path, field).
template <typename... Args>
absl::Status MakeStatus(absl::StatusCode code, fmt::format_string<Args...> format, Args&&... args) {
  return absl::Status(code, fmt::format(format, std::forward<Args>(args)...));
}
#define HR_STATUS_MAKER_(Name)                                             \
  template <typename... Args>                                              \
  absl::Status Name(fmt::format_string<Args...> format, Args&&... args) {  \
    return absl::Status(absl::StatusCode::k##Name,                         \
                        fmt::format(format, std::forward<Args>(args)...)); \
  }
HR_STATUS_MAKER_(InvalidArgument)  // the caller's words are wrong: pipeline, config, flag
HR_STATUS_MAKER_(NotFound)         // a file, job or worker that is not there
HR_STATUS_MAKER_(PermissionDenied)
HR_STATUS_MAKER_(AlreadyExists)
HR_STATUS_MAKER_(FailedPrecondition)  // right words at the wrong time
HR_STATUS_MAKER_(DataLoss)            // damaged bytes: the message has path, offset and record
HR_STATUS_MAKER_(OutOfRange)          // over a named limit
HR_STATUS_MAKER_(ResourceExhausted)
HR_STATUS_MAKER_(Unavailable)  // may pass: try again
HR_STATUS_MAKER_(DeadlineExceeded)
HR_STATUS_MAKER_(Cancelled)
HR_STATUS_MAKER_(Unimplemented)
HR_STATUS_MAKER_(Internal)  // a bug of ours
HR_STATUS_MAKER_(Aborted)
#undef HR_STATUS_MAKER_

// Returns `status` with "`context`: " in front of its message; OK stays OK. Payloads are kept.
absl::Status Annotate(const absl::Status& status, std::string_view context);

// A system error as a Status: "open data/a.tfrecord: Permission denied". `what` names the call and
// its object.
absl::Status ErrnoStatus(int error_number, std::string_view what);

// True for errors that a later try may not see (UNAVAILABLE, DEADLINE_EXCEEDED, ABORTED,
// RESOURCE_EXHAUSTED).
bool IsTransient(const absl::Status& status);

// The one line a person reads: "NOT_FOUND: open a.tfrecord: No such file or directory".
std::string OneLine(const absl::Status& status);

}  // namespace headrace

#define HR_RETURN_IF_ERROR(expr)                                               \
  do {                                                                         \
    if (absl::Status hr_status_ = (expr); !hr_status_.ok()) return hr_status_; \
  } while (false)

#define HR_CONCAT_INNER_(a, b) a##b
#define HR_CONCAT_(a, b) HR_CONCAT_INNER_(a, b)
#define HR_ASSIGN_OR_RETURN(lhs, expr) HR_ASSIGN_OR_RETURN_(HR_CONCAT_(hr_or_, __LINE__), lhs, expr)
#define HR_ASSIGN_OR_RETURN_(tmp, lhs, expr)     \
  auto tmp = (expr);                             \
  if (!tmp.ok()) return std::move(tmp).status(); \
  lhs = std::move(*tmp)
