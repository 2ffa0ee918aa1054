// Frames over gRPC, serving side: Worker.StreamFrames with raw byte buffers. Works everywhere,
// through proxies too.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "transport/frame_stream.h"

namespace grpc {
class ServerCredentials;
}

namespace headrace {

struct GrpcFrameServerOptions {
  // "host:port" (port 0: any free one) or "unix:/path".
  std::string address = "127.0.0.1:0";
  // Frames over it are refused by WriteFrame already; this sets gRPC's own limit.
  size_t max_frame_bytes = kDefaultMaxFrameBytes;
  // Bytes that may wait in one stream beyond the frame that is being sent: keeps the pipe full,
  // bounds memory.
  size_t max_waiting_bytes = size_t{1} << 20;
  // Frames over it go in several messages (byte_buffers.h).
  size_t max_message_bytes = size_t{1} << 30;
  // They serialize frames and write to sockets; the handler is called by them.
  int threads = 2;
  // Null: plain text.
  std::shared_ptr<grpc::ServerCredentials> credentials = nullptr;
  // The `authorization` that clients must show; empty: none.
  std::string token = {};
};

// Starts serving. UNAVAILABLE names the address when it cannot be bound. `handler` must outlive the
// server.
absl::StatusOr<std::unique_ptr<FrameServer>> StartGrpcFrameServer(
    const GrpcFrameServerOptions& options, StreamHandler& handler);

}  // namespace headrace
