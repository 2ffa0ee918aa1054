// Frames over plain TCP or TLS, serving side: one connection per stream, frames gathered from where
// they lie into as few system calls as the kernel takes.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/tls_files.h"
#include "transport/frame_stream.h"
#include "transport/tcp/codecs.h"
#include "transport/tcp/link.h"

namespace headrace {

// xxh3 over every frame: kNetwork leaves out what no card or cable touches (loopback) and what TLS
// guards anyway.
enum class TcpChecksums { kOff, kNetwork, kAlways };

struct TcpFrameServerOptions {
  std::string address = "127.0.0.1:0";  // host:port; port 0: any free one
  // Bytes that may wait in one stream beyond the frame that is being sent.
  size_t max_waiting_bytes = size_t{1} << 20;
  // They write to sockets, compress and count checksums; the handler is called by them.
  int threads = 2;
  // Further connections are closed at once.
  size_t max_connections = 4096;
  std::string token = {};  // what clients must show; empty: nothing
  TlsFiles tls = {};
  tcp::Compression compression = tcp::Compression::kAuto;
  TcpChecksums checksums = TcpChecksums::kNetwork;
  tcp::LinkTimes times = {};
};

// Starts serving. UNAVAILABLE names the address when it cannot be bound, INVALID_ARGUMENT a
// certificate that cannot be read. `handler` must outlive the server.
absl::StatusOr<std::unique_ptr<FrameServer>> StartTcpFrameServer(
    const TcpFrameServerOptions& options, StreamHandler& handler);

}  // namespace headrace
