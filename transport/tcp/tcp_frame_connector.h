// Frames over plain TCP or TLS, receiving side: frames are read into the memory that they stay in.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/tls_files.h"
#include "transport/frame_connector.h"
#include "transport/tcp/link.h"

namespace headrace {

struct TcpFrameConnectorOptions {
  // A larger frame breaks its stream off with OUT_OF_RANGE. Config key: transport.max_frame_bytes.
  size_t max_frame_bytes = kDefaultMaxFrameBytes;
  // Received memory kept for the next frames.
  size_t pooled_bytes = size_t{64} << 20;
  // They read from sockets, check and decompress; receivers are called by them.
  int threads = 2;
  std::string token = {};  // shown to workers; empty: none
  TlsFiles tls = {};
  absl::Duration connect_timeout = absl::Seconds(5);
  tcp::LinkTimes times = {};
};

// INVALID_ARGUMENT names a certificate that cannot be read.
absl::StatusOr<std::unique_ptr<FrameConnector>> MakeTcpFrameConnector(
    const TcpFrameConnectorOptions& options = {});

}  // namespace headrace
