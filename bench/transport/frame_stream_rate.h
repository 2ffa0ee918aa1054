// Frames of a stated size through Headrace's own gRPC transport over loopback: credit, aligned
// receive buffers, header checks.
#pragma once

#include <cstddef>

#include "absl/status/statusor.h"

namespace headrace {

// Bytes per second, headers included.
absl::StatusOr<double> FrameStreamBytesPerSecond(size_t payload_bytes, size_t frames);

}  // namespace headrace
