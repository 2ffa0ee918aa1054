// The limit that the gRPC transport is measured against: a bare server stream of ByteBuffers over
// loopback, no frames, no credit, no copy into aligned memory. Prints nothing; returns bytes per
// second.
#pragma once

#include <cstddef>

#include "absl/status/statusor.h"

namespace headrace {

// Sends `messages` messages of `bytes` each through a fresh server and channel; each received byte
// is left untouched.
absl::StatusOr<double> RawStreamBytesPerSecond(size_t bytes, size_t messages);

}  // namespace headrace
