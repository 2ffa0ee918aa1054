// Serves a role's metrics and health over HTTP: /metrics for Prometheus; for probes /healthz (is
// the process well?) and /readyz (does it do its work?), 200 "ok" or 503 with the reason. Owned by
// the role, beside the Metrics that it reads; it stops in well under a second when destroyed.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/http/http_server.h"
#include "common/metrics/metrics.h"

namespace headrace {

class MetricsServer {
 public:
  // `listen` is "address:port", port 0 to have one chosen; `setting` the config key that holds it,
  // for errors (see HttpServer::Start). `health` and `ready` run on the server's thread; empty:
  // always healthy; ready when healthy.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Start(
      const std::string& listen, const std::string& setting, const Metrics& metrics,
      std::function<absl::Status()> health = {}, std::function<absl::Status()> ready = {});

  const NetAddress& address() const { return server_->address(); }

 private:
  explicit MetricsServer(std::unique_ptr<HttpServer> server) : server_(std::move(server)) {}

  const std::unique_ptr<HttpServer> server_;
};

}  // namespace headrace
