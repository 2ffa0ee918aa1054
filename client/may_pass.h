// What a client rides through. A peer that dies or restarts in the middle of a call shows as
// CANCELLED, UNKNOWN or INTERNAL from gRPC as often as UNAVAILABLE; only an answer that a peer gave
// on purpose is final.
#pragma once

#include "absl/status/status.h"
#include "common/status.h"

namespace headrace {

inline bool MayPass(const absl::Status& status) {
  return IsTransient(status) || absl::IsCancelled(status) || absl::IsUnknown(status) ||
         absl::IsInternal(status);
}

}  // namespace headrace
