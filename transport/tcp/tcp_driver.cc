// The transport "tcp": straight over sockets, TLS when there are certificates.
#include "common/status.h"
#include "transport/tcp/tcp_frame_connector.h"
#include "transport/tcp/tcp_frame_server.h"
#include "transport/transport_driver.h"

namespace headrace {
namespace {

class TcpTransport final : public TransportDriver {
 public:
  std::string_view name() const override { return "tcp"; }

  absl::StatusOr<std::unique_ptr<FrameServer>> Serve(const TransportServeOptions& options,
                                                     StreamHandler& handler) const override {
    TcpFrameServerOptions own;
    own.address = options.listen;
    own.max_waiting_bytes = options.max_waiting_bytes;
    own.token = options.token;
    own.tls = options.tls;
    own.checksums = options.checksums ? TcpChecksums::kNetwork : TcpChecksums::kOff;
    HR_ASSIGN_OR_RETURN(own.compression, tcp::ParseCompression(options.compression));
    return StartTcpFrameServer(own, handler);
  }

  absl::StatusOr<std::unique_ptr<FrameConnector>> MakeConnector(
      const TransportConnectOptions& options) const override {
    TcpFrameConnectorOptions own;
    own.max_frame_bytes = options.max_frame_bytes;
    own.pooled_bytes = options.pooled_bytes;
    own.token = options.token;
    own.tls = options.tls;
    return MakeTcpFrameConnector(own);
  }
};

}  // namespace

void Register_tcp_driver(TransportRegistry& registry) {
  registry.Add(std::make_unique<TcpTransport>());
}

}  // namespace headrace
