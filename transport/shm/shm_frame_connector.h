// Frames through shared memory, receiving side. Frames borrow the worker's segments; letting go of
// a frame, in any thread and at any time later, gives its memory back.
#pragma once

#include <cstddef>
#include <memory>

#include "common/clock.h"
#include "transport/frame_connector.h"

namespace headrace {

struct ShmFrameConnectorOptions {
  // A larger frame breaks its stream off with OUT_OF_RANGE. Config key: transport.max_frame_bytes.
  size_t max_frame_bytes = kDefaultMaxFrameBytes;
  // Memory for frames that came through the socket, kept for the next ones.
  size_t pooled_bytes = size_t{64} << 20;
  // A worker that takes a connection and says nothing is UNAVAILABLE after it.
  absl::Duration connect_timeout = absl::Seconds(5);
};

// Opens addresses as FrameServer::address() says them: an optional HostTag, then the socket's name.
// UNIMPLEMENTED: the worker is on another host, or another user's. Frames may outlive the
// connector. `clock` must outlive it.
absl::StatusOr<std::unique_ptr<FrameConnector>> MakeShmFrameConnector(
    const ShmFrameConnectorOptions& options = {}, const Clock& clock = RealClock());

}  // namespace headrace
