// The transport "grpc": everywhere, through proxies and service meshes too.
#include "transport/grpc/grpc_frame_connector.h"
#include "transport/grpc/grpc_frame_server.h"
#include "transport/transport_driver.h"

namespace headrace {
namespace {

class GrpcTransport final : public TransportDriver {
 public:
  std::string_view name() const override { return "grpc"; }

  absl::StatusOr<std::unique_ptr<FrameServer>> Serve(const TransportServeOptions& options,
                                                     StreamHandler& handler) const override {
    GrpcFrameServerOptions own;
    own.address = options.listen;
    own.max_waiting_bytes = options.max_waiting_bytes;
    return StartGrpcFrameServer(own, handler);
  }

  absl::StatusOr<std::unique_ptr<FrameConnector>> MakeConnector(
      const TransportConnectOptions& options) const override {
    GrpcFrameConnectorOptions own;
    own.max_frame_bytes = options.max_frame_bytes;
    own.pooled_bytes = options.pooled_bytes;
    return MakeGrpcFrameConnector(own);
  }
};

}  // namespace

void Register_grpc_driver(TransportRegistry& registry) {
  registry.Add(std::make_unique<GrpcTransport>());
}

}  // namespace headrace
