#include "rpc/call_security.h"

#include "absl/strings/cord.h"
#include "common/auth_token.h"
#include "common/status.h"

namespace headrace {
namespace {

constexpr char kMismatch[] = "headrace.dev/tls-mismatch";

absl::StatusOr<std::string> TokenOf(const std::string& file) {
  if (file.empty()) return std::string();
  HR_ASSIGN_OR_RETURN(const BearerToken token, BearerToken::Load(file));
  return token.HeaderValue();
}

struct Advice {
  std::string_view words;  // of gRPC, BoringSSL or OpenSSL
  std::string_view what_to_do;
};

// Told by the peer's certificate or answer: sure.
constexpr Advice kSure[] = {
    {"certificate verify failed",
     "its certificate is not signed by an authority of tls.ca, or has expired: give tls.ca the "
     "authority that signed it"},
    {"CERTIFICATE_VERIFY_FAILED",
     "its certificate is not signed by an authority of tls.ca, or has expired: give tls.ca the "
     "authority that signed it"},
    {"is not in peer certificate",
     "its certificate is for other names: dial one of those, or set tls.server_name to one"},
    {"Hostname Verification Check failed",
     "its certificate is for other names: dial one of those, or set tls.server_name to one"},
    {"wrong version number",
     "it speaks no TLS: leave tls out here, or set tls.cert and tls.key there"},
    {"WRONG_VERSION_NUMBER",
     "it speaks no TLS: leave tls out here, or set tls.cert and tls.key there"},
    {"certificate required", "it asks for a certificate: set tls.cert and tls.key"},
    {"unknown ca",
     "it does not know the authority that signed our tls.cert: add that to its tls.ca"},
    {"bad certificate",
     "it does not accept our tls.cert: is that signed by an authority of its "
     "tls.ca?"},
};

// A connection that was cut: a peer that restarts does that too.
constexpr std::string_view kCut[] = {"Socket closed", "Connection reset by peer", "Broken pipe",
                                     "Handshake read failed", "handshaker shutdown"};

absl::Status Extended(const absl::Status& status, std::string_view words) {
  absl::Status longer(status.code(), fmt::format("{} ({})", std::string(status.message()), words));
  status.ForEachPayload([&longer](absl::string_view type, const absl::Cord& payload) {
    longer.SetPayload(type, payload);
  });
  return longer;
}

}  // namespace

absl::StatusOr<ChannelOptions> MakeChannelOptions(const TlsFiles& tls,
                                                  const std::string& token_file) {
  ChannelOptions options;
  HR_ASSIGN_OR_RETURN(options.token, TokenOf(token_file));
  if (tls.empty()) return options;
  HR_ASSIGN_OR_RETURN(const PemTexts pem, ReadPem(tls, /*server=*/false));
  options.credentials = grpc::SslCredentials({pem.ca, pem.key, pem.cert});
  options.server_name = tls.server_name;
  return options;
}

absl::StatusOr<ServerSecurity> MakeServerSecurity(const TlsFiles& tls,
                                                  const std::string& token_file) {
  ServerSecurity security;
  HR_ASSIGN_OR_RETURN(security.token, TokenOf(token_file));
  if (tls.empty()) return security;
  HR_ASSIGN_OR_RETURN(const PemTexts pem, ReadPem(tls, /*server=*/true));
  grpc::SslServerCredentialsOptions ssl(
      pem.ca.empty() || !tls.client_certificates
          ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
          : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  ssl.pem_root_certs = pem.ca;
  ssl.pem_key_cert_pairs.push_back({pem.key, pem.cert});
  security.credentials = grpc::SslServerCredentials(ssl);
  return security;
}

absl::Status CheckToken(const std::string& token, const grpc::ServerContext& context) {
  if (token.empty()) return absl::OkStatus();
  const auto shown = context.client_metadata().find("authorization");
  if (shown == context.client_metadata().end()) {
    return absl::UnauthenticatedError(
        "a token is asked for and none was shown: set token_file (--token-file, "
        "HEADRACE_TOKEN_FILE) to a file with the cluster's");
  }
  if (ConstantTimeEquals({shown->second.data(), shown->second.size()}, token)) {
    return absl::OkStatus();
  }
  return absl::UnauthenticatedError(
      "the token that was shown is not the cluster's: is token_file (--token-file, "
      "HEADRACE_TOKEN_FILE) that of another cluster, or an old one?");
}

absl::Status WithTlsAdvice(absl::Status status, bool encrypted) {
  if (!absl::IsUnavailable(status)) return status;
  const std::string_view message(status.message().data(), status.message().size());
  if (encrypted) {
    for (const Advice& advice : kSure) {
      if (message.find(advice.words) == std::string_view::npos) continue;
      absl::Status sure = Extended(status, advice.what_to_do);
      sure.SetPayload(kMismatch, absl::Cord());
      return sure;
    }
  }
  for (std::string_view words : kCut) {
    if (message.find(words) == std::string_view::npos) continue;
    return Extended(status, encrypted
                                ? "it hung up: if that goes on, it may speak no TLS, or ask for a "
                                  "certificate (tls.cert, tls.key) that we do not show"
                                : "it hung up: if that goes on, it may ask for TLS: set tls.ca "
                                  "(--tls-ca, HEADRACE_TLS_CA)");
  }
  return status;
}

bool IsTlsMismatch(const absl::Status& status) { return status.GetPayload(kMismatch).has_value(); }

}  // namespace headrace
