#include "common/tls_files.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <tuple>

#include "common/status.h"

namespace headrace {

absl::StatusOr<PemTexts> ReadPem(const TlsFiles& files, bool server) {
  PemTexts pem;
  for (const auto& [path, text, name] :
       {std::tuple(&files.cert, &pem.cert, "cert"), std::tuple(&files.key, &pem.key, "key"),
        std::tuple(&files.ca, &pem.ca, "ca")}) {
    if (path->empty()) continue;
    errno = 0;
    std::ifstream file(*path, std::ios::binary);
    if (file) text->assign(std::istreambuf_iterator<char>(file), {});
    if (!file) {
      return InvalidArgument("tls.{}: {}: {}", name, *path,
                             errno != 0 ? std::strerror(errno) : "it cannot be read");
    }
    if (text->find("-----BEGIN ") == std::string::npos) {
      return InvalidArgument("tls.{}: {}: this is no PEM file", name, *path);
    }
  }
  if (files.cert.empty() != files.key.empty()) {
    return InvalidArgument("tls.{}: a certificate and its private key go together: set both",
                           files.cert.empty() ? "cert" : "key");
  }
  if (server && files.cert.empty() && !files.ca.empty()) {
    return InvalidArgument("tls.cert: who serves TLS needs a certificate and its key");
  }
  return pem;
}

}  // namespace headrace
