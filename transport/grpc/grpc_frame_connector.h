// Frames over gRPC, receiving side.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "transport/frame_connector.h"

namespace grpc {
class ChannelCredentials;
}

namespace headrace {

struct GrpcFrameConnectorOptions {
  // A larger frame breaks its stream off with OUT_OF_RANGE. Config key: transport.max_frame_bytes.
  size_t max_frame_bytes = kDefaultMaxFrameBytes;
  // Received memory kept for the next frames.
  size_t pooled_bytes = size_t{64} << 20;
  // They read from sockets and put frames together; receivers are called by them.
  int threads = 2;
  // Null: plain text.
  std::shared_ptr<grpc::ChannelCredentials> credentials = nullptr;
  // The name that the worker's certificate must be for; empty: that of its address.
  std::string server_name = {};
  // Shown as `authorization`; empty: none.
  std::string token = {};
};

std::unique_ptr<FrameConnector> MakeGrpcFrameConnector(
    const GrpcFrameConnectorOptions& options = {});

}  // namespace headrace
