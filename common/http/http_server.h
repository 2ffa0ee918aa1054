// A small HTTP/1.1 server for metrics, health and the status page: whole requests in, whole
// responses out, on one thread of its own. Owned by the role; the destructor stops accepting, drops
// open connections and joins, in well under a second whatever the peers do (a handler that is
// running is waited for).
//
// Limits: 16 KiB of headers, Options::max_body_bytes of body, Options::max_connections at once
// (more are closed at once), 10 s for a peer to send or take something.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/net_address.h"

namespace headrace {

struct HttpRequest {
  std::string method;         // "GET"
  std::string path;           // "/metrics": without the query, not decoded
  std::string query;          // "a=1&b=2"
  std::string authorization;  // the header, or ""
  std::string body;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body = {};
};

// Runs on the server's thread, one request at a time: quick, no waiting. What it throws becomes a
// 500.
using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

class HttpServer {
 public:
  struct Options {
    std::string listen = "127.0.0.1:0";  // port 0: the system chooses, see address()
    std::string setting = "listen";      // the config key of `listen`, for errors
    std::string thread_name = "http";
    int max_connections = 64;
    uint64_t max_body_bytes = 1 << 20;
  };

  // FAILED_PRECONDITION when the port is taken, with what to do; INVALID_ARGUMENT for an address
  // that this machine does not have; PERMISSION_DENIED.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(Options options, HttpHandler handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Where it listens, with the port that was chosen.
  const NetAddress& address() const { return address_; }

 private:
  class Loop;  // Asio stays in the .cc
  HttpServer(NetAddress address, std::unique_ptr<Loop> loop);

  const NetAddress address_;
  const std::unique_ptr<Loop> loop_;
};

}  // namespace headrace
