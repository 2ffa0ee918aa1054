// grpc::Status <-> absl::Status. The codes have the same numbers; messages are cut at
// kMaxStatusMessageBytes, since gRPC carries them in headers and refuses the whole reply when those
// grow over 8 KiB.
#pragma once

#include "absl/status/status.h"
#include "grpcpp/support/status.h"

namespace headrace {

inline constexpr size_t kMaxStatusMessageBytes = 4096;

grpc::Status ToGrpcStatus(const absl::Status& status);
absl::Status FromGrpcStatus(const grpc::Status& status);

}  // namespace headrace
