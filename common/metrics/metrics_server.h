// Serves a role's metrics and health over HTTP: /metrics for Prometheus; for probes /healthz (is
// the process well?) and /readyz (does it do its work?), 200 "ok" or 503 with the reason. Owned by
// the role, beside the Metrics that it reads; it stops in well under a second when destroyed.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/http/http_server.h"
#include "common/metrics/metrics.h"

namespace headrace {

// A page for probes: 200 with what `check` says, or 503 with its error. `check` runs on the
// server's thread.
struct ProbePage {
  std::string path;
  std::function<absl::StatusOr<std::string>()> check;
};

class MetricsServer {
 public:
  // `listen` is "address:port", port 0 to have one chosen; `setting` the config key that holds it,
  // for errors (see HttpServer::Start). `health` and `ready` run on the server's thread; empty:
  // always healthy; ready when healthy.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Start(
      const std::string& listen, const std::string& setting, const Metrics& metrics,
      std::function<absl::Status()> health = {}, std::function<absl::Status()> ready = {});
  // Other pages than those two.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Start(const std::string& listen,
                                                              const std::string& setting,
                                                              const Metrics& metrics,
                                                              std::vector<ProbePage> probes);

  const NetAddress& address() const { return server_->address(); }

 private:
  explicit MetricsServer(std::unique_ptr<HttpServer> server) : server_(std::move(server)) {}

  const std::unique_ptr<HttpServer> server_;
};

}  // namespace headrace
