// Where a side's certificates lie: PEM files.
#pragma once

#include <string>

namespace headrace {

// A server without `ca` asks clients for no certificate; a client without it trusts the system's
// authorities. All empty: plain text.
struct TlsFiles {
  std::string cert;  // own certificate, with its chain
  std::string key;   // its private key
  std::string ca;    // authorities that peers' certificates are checked by
  bool empty() const { return cert.empty() && key.empty() && ca.empty(); }
};

}  // namespace headrace
