// One HTTP/1.1 call after the other, for APIs that are asked now and then (Kubernetes): a
// connection for each, plain or TLS with the server's certificate and name checked. Bounded by its
// timeout and by the size of the answer. Owned by one thread.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace headrace {

struct HttpCall {
  std::string method = "GET";
  std::string target = "/";
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};
};

struct HttpAnswer {
  int status = 0;
  std::string body = {};
};

class HttpClient {
 public:
  struct Options {
    std::string url =
        {};  // "https://10.0.0.1:443", "http://127.0.0.1:8080"; nothing behind the port
    std::string ca_file = {};                   // PEM, for https; empty: the system's
    absl::Duration timeout = absl::Seconds(5);  // of a call, from the look-up of its name on
    size_t max_body_bytes = 1 << 20;
  };
  // INVALID_ARGUMENT: the URL; NOT_FOUND, INVALID_ARGUMENT: the CA file.
  static absl::StatusOr<std::unique_ptr<HttpClient>> Make(const Options& options);
  ~HttpClient();

  // Any answer of the server is an answer, 500 too. UNAVAILABLE: there was none, and why;
  // DEADLINE_EXCEEDED; OUT_OF_RANGE: it is too large.
  absl::StatusOr<HttpAnswer> Call(const HttpCall& call);

  const std::string& url() const { return options_.url; }

 private:
  class Tls;  // OpenSSL stays in the .cc
  explicit HttpClient(Options options);

  const Options options_;
  bool https_ = false;
  std::string host_;
  std::string port_;
  std::unique_ptr<Tls> tls_;
};

}  // namespace headrace
