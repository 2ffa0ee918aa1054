// One way of moving frames, by name: "grpc", "tcp". A driver is a folder transport/NAME/ with a
// file NAME_driver.cc that defines `void Register_NAME_driver(TransportRegistry&)`; CMake calls it.
// Workers serve the drivers that their config names, clients try those that a worker offers
// (negotiating_connector.h).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/tls_files.h"
#include "transport/frame_connector.h"
#include "transport/frame_stream.h"

namespace headrace {

// What a worker says to every driver; each takes what concerns it.
struct TransportServeOptions {
  // "host:port" (port 0: any free one) or "unix:/path"; drivers of one host have no use for it.
  std::string listen = "127.0.0.1:0";
  // Bytes that may wait in one stream beyond the frame that is being sent.
  size_t max_waiting_bytes = size_t{1} << 20;
  // Of shm: shared memory at most, and where its socket lies (empty: the kernel's abstract space).
  size_t shm_bytes = size_t{1} << 30;
  std::string shm_directory = {};
  // What clients must show ("Bearer ..."); empty: nothing.
  std::string token = {};
  TlsFiles tls = {};
  // auto, none, lz4 or zstd; drivers that never compress ignore it.
  std::string compression = "auto";
  // Over each frame, where nothing else guards it.
  bool checksums = true;
};

// What a client says to every driver.
struct TransportConnectOptions {
  // A larger frame breaks its stream off with OUT_OF_RANGE. Config key: transport.max_frame_bytes.
  size_t max_frame_bytes = kDefaultMaxFrameBytes;
  // Received memory kept for the next frames.
  size_t pooled_bytes = size_t{64} << 20;
  std::string token = {};  // shown to workers ("Bearer ..."); empty: none
  TlsFiles tls = {};
};

// Stateless and thread-safe. Both calls may read files (certificates) and start threads.
class TransportDriver {
 public:
  virtual ~TransportDriver() = default;
  virtual std::string_view name() const = 0;
  // UNIMPLEMENTED: not on this machine (a worker that offers others goes on without it).
  virtual absl::StatusOr<std::unique_ptr<FrameServer>> Serve(const TransportServeOptions& options,
                                                             StreamHandler& handler) const = 0;
  // UNIMPLEMENTED: not on this machine.
  virtual absl::StatusOr<std::unique_ptr<FrameConnector>> MakeConnector(
      const TransportConnectOptions& options) const = 0;
};

// Filled once, then only read.
class TransportRegistry {
 public:
  void Add(std::unique_ptr<TransportDriver> driver);
  // Null when there is none of that name.
  const TransportDriver* Find(std::string_view name) const;
  std::vector<std::string> names() const;
  // INVALID_ARGUMENT for a word that names no driver, with the nearest one.
  absl::Status Check(std::string_view name) const;

 private:
  std::vector<std::unique_ptr<TransportDriver>> drivers_;
};

// Every driver of transport/ (generated; link hr_transports).
void RegisterAll_transports(TransportRegistry& registry);

}  // namespace headrace
