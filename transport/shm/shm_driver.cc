// The transport "shm": clients on the worker's own host borrow its batches where they lie.
#include "transport/shm/shm_frame_connector.h"
#include "transport/shm/shm_frame_server.h"
#include "transport/transport_driver.h"

namespace headrace {
namespace {

class ShmTransport final : public TransportDriver {
 public:
  std::string_view name() const override { return "shm"; }

  absl::StatusOr<std::unique_ptr<FrameServer>> Serve(const TransportServeOptions& options,
                                                     StreamHandler& handler) const override {
    ShmFrameServerOptions own;
    own.directory = options.shm_directory;
    own.max_waiting_bytes = options.max_waiting_bytes;
    return StartShmFrameServer(own, ShmPool::Create({.max_bytes = options.shm_bytes}, RealClock()),
                               RealClock(), handler);
  }

  absl::StatusOr<std::unique_ptr<FrameConnector>> MakeConnector(
      const TransportConnectOptions& options) const override {
    ShmFrameConnectorOptions own;
    own.max_frame_bytes = options.max_frame_bytes;
    own.pooled_bytes = options.pooled_bytes;
    return MakeShmFrameConnector(own);
  }
};

}  // namespace

void Register_shm_driver(TransportRegistry& registry) {
  registry.Add(std::make_unique<ShmTransport>());
}

}  // namespace headrace
