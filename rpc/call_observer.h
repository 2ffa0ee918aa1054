// Told of every call that ended: feeds the RPC latency histogram of the role that owns it. Called
// by the calling thread; must not block.
#pragma once

#include <functional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace headrace {

using CallObserver =
    std::function<void(std::string_view method, absl::Duration took, absl::StatusCode code)>;

}  // namespace headrace
