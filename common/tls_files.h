// Where a side's certificates lie: PEM files.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace headrace {

// A server without `ca` asks its clients for no certificate; a client without it trusts the
// system's authorities. All empty: plain text.
struct TlsFiles {
  std::string cert = {};  // own certificate, with its chain
  std::string key = {};   // its private key
  std::string ca = {};    // authorities that peers' certificates are checked by
  // The name that a server's certificate must be for; empty: the address that was dialled.
  std::string server_name = {};
  // Of a server that has `ca`: clients must show a certificate that it signed.
  bool client_certificates = true;
  bool empty() const { return cert.empty() && key.empty() && ca.empty(); }
};

// What is in them.
struct PemTexts {
  std::string cert;
  std::string key;
  std::string ca;
};

// INVALID_ARGUMENT names the file and its key ("tls.cert: /etc/tls.pem: No such file or
// directory"), also for one that is no PEM, for a certificate without a key, and for a server
// without a certificate.
absl::StatusOr<PemTexts> ReadPem(const TlsFiles& files, bool server);

}  // namespace headrace
