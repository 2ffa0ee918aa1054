// --token-file and --tls-*: what a command shows to a cluster and checks it by.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "common/tls_files.h"

namespace headrace {

struct SecurityFlags {
  std::string token_file;
  TlsFiles tls;

  void Declare(CLI::App& app) {
    app.add_option("--token-file", token_file, "file with the cluster's token")
        ->envname("HEADRACE_TOKEN_FILE");
    app.add_option("--tls-ca", tls.ca,
                   "authorities that the cluster's certificates are checked by, a PEM file")
        ->envname("HEADRACE_TLS_CA");
    app.add_option("--tls-cert", tls.cert, "own certificate, a PEM file")
        ->envname("HEADRACE_TLS_CERT");
    app.add_option("--tls-key", tls.key, "its private key, a PEM file")
        ->envname("HEADRACE_TLS_KEY");
    app.add_option("--tls-server-name", tls.server_name,
                   "the name that the cluster's certificates must be for; left out: that of the "
                   "address")
        ->envname("HEADRACE_TLS_SERVER_NAME");
  }
};

// For `headrace worker`, of a cluster that this process begins; flags that are there stay as
// they are.
inline void AppendSecurity(const std::string& token_file, const TlsFiles& tls,
                           std::vector<std::string>& arguments) {
  const auto add = [&arguments](const std::string& flag, const std::string& value) {
    const bool given = std::any_of(arguments.begin(), arguments.end(), [&flag](const auto& word) {
      return word == flag || word.starts_with(flag + "=");
    });
    if (!given && !value.empty()) arguments.insert(arguments.end(), {flag, value});
  };
  add("--token-file", token_file);
  add("--tls.cert", tls.cert);
  add("--tls.key", tls.key);
  add("--tls.ca", tls.ca);
  add("--tls.server-name", tls.server_name);
  if (!tls.client_certificates) add("--tls.client-certificates", "false");
}

}  // namespace headrace
