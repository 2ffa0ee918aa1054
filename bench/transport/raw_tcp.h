// The limit that the tcp transport is measured against: a blocking loop of gathered writes into a
// loopback socket, and a loop that reads each frame into one buffer. No credit, no checks.
#pragma once

#include <cstddef>

#include "absl/status/statusor.h"

namespace headrace {

// Sends `frames` frames of `bytes` behind a head of 64 bytes; bytes per second.
absl::StatusOr<double> RawTcpBytesPerSecond(size_t bytes, size_t frames);

}  // namespace headrace
