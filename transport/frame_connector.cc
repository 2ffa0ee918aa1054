#include "transport/frame_connector.h"

namespace headrace {
namespace {

constexpr char kUnreached[] = "headrace.transport/unreached";

}  // namespace

absl::Status Unreached(absl::Status status) {
  status.SetPayload(kUnreached, absl::Cord());
  return status;
}

bool IsUnreached(const absl::Status& status) { return status.GetPayload(kUnreached).has_value(); }

}  // namespace headrace
