// The transport "grpc": everywhere, through proxies and service meshes too.
#include "common/status.h"
#include "grpcpp/grpcpp.h"
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
    own.token = options.token;
    if (!options.tls.empty()) {
      HR_ASSIGN_OR_RETURN(const PemTexts pem, ReadPem(options.tls, /*server=*/true));
      grpc::SslServerCredentialsOptions ssl(
          pem.ca.empty() || !options.tls.client_certificates
              ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
              : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
      ssl.pem_root_certs = pem.ca;
      ssl.pem_key_cert_pairs.push_back({pem.key, pem.cert});
      own.credentials = grpc::SslServerCredentials(ssl);
    }
    return StartGrpcFrameServer(own, handler);
  }

  absl::StatusOr<std::unique_ptr<FrameConnector>> MakeConnector(
      const TransportConnectOptions& options) const override {
    GrpcFrameConnectorOptions own;
    own.max_frame_bytes = options.max_frame_bytes;
    own.pooled_bytes = options.pooled_bytes;
    own.token = options.token;
    if (!options.tls.empty()) {
      HR_ASSIGN_OR_RETURN(const PemTexts pem, ReadPem(options.tls, /*server=*/false));
      own.credentials = grpc::SslCredentials({pem.ca, pem.key, pem.cert});
      own.server_name = options.tls.server_name;
    }
    return MakeGrpcFrameConnector(own);
  }
};

}  // namespace

void Register_grpc_driver(TransportRegistry& registry) {
  registry.Add(std::make_unique<GrpcTransport>());
}

}  // namespace headrace
