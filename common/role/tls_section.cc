#include "common/role/tls_section.h"

#include "common/status.h"

namespace headrace {

ConfigSpec<TlsFiles> TlsSection() {
  ConfigSpec<TlsFiles> tls;
  tls.Field("cert", &TlsFiles::cert, "PEM file of its own certificate, with its chain")
      .Field("key", &TlsFiles::key, "PEM file of its private key")
      .Field("ca", &TlsFiles::ca,
             "PEM file of the authorities that certificates of others are checked by; empty: the "
             "system's, and who dials in needs none")
      .Field("server_name", &TlsFiles::server_name,
             "the name that a certificate must be for where this role dials; empty: that of the "
             "address")
      .Field("client_certificates", &TlsFiles::client_certificates,
             "where `ca` is set, who dials in must show a certificate that it signed")
      .Check([](const TlsFiles& files) {
        if (files.cert.empty() == files.key.empty()) return absl::OkStatus();
        return InvalidArgument("{}: a certificate and its private key go together: set both",
                               files.cert.empty() ? "cert" : "key");
      });
  return tls;
}

}  // namespace headrace
