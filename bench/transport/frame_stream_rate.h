// Frames of a stated size through one of Headrace's transports over loopback: credit, aligned
// receive buffers, header checks.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace headrace {

struct RateOptions {
  std::string transport = "grpc";  // or "tcp"
  bool checksums = false;          // tcp only: on loopback too
  size_t payload_bytes = size_t{1} << 20;
  size_t frames = 2000;
};
// Bytes per second, headers included.
absl::StatusOr<double> FrameStreamBytesPerSecond(const RateOptions& options);

}  // namespace headrace
