#include "common/status.h"

#include <system_error>

#include "absl/strings/str_replace.h"

namespace headrace {

absl::Status Annotate(const absl::Status& status, std::string_view context) {
  if (status.ok()) return status;
  absl::Status out(status.code(),
                   fmt::format("{}: {}", context,
                               std::string_view(status.message().data(), status.message().size())));
  status.ForEachPayload(
      [&out](absl::string_view url, const absl::Cord& payload) { out.SetPayload(url, payload); });
  return out;
}

absl::Status ErrnoStatus(int error_number, std::string_view what) {
  return absl::ErrnoToStatus(error_number, absl::string_view(what.data(), what.size()));
}

bool IsTransient(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kResourceExhausted:
      return true;
    default:
      return false;
  }
}

std::string OneLine(const absl::Status& status) {
  return absl::StrReplaceAll(status.ToString(), {{"\n", " "}});
}

}  // namespace headrace
