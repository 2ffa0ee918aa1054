#include "common/metrics/metrics_server.h"

#include <utility>

#include "common/status.h"

namespace headrace {
namespace {

using Probe = std::function<absl::Status()>;

HttpResponse Answer(const HttpRequest& request, const Metrics& metrics, const Probe& health,
                    const Probe& ready) {
  if (request.method != "GET" && request.method != "HEAD") {
    return {.status = 405, .body = "only GET\n"};
  }
  if (request.path == "/metrics") {
    return {.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = metrics.Text()};
  }
  if (request.path == "/healthz" || request.path == "/readyz") {
    absl::Status status = health ? health() : absl::OkStatus();
    if (status.ok() && ready && request.path == "/readyz") status = ready();
    if (status.ok()) return {.body = "ok\n"};
    return {.status = 503, .body = OneLine(status) + "\n"};
  }
  return {.status = 404, .body = "there are /metrics, /healthz and /readyz\n"};
}

}  // namespace

absl::StatusOr<std::unique_ptr<MetricsServer>> MetricsServer::Start(
    const std::string& listen, const std::string& setting, const Metrics& metrics,
    std::function<absl::Status()> health, std::function<absl::Status()> ready) {
  HR_ASSIGN_OR_RETURN(
      std::unique_ptr<HttpServer> server,
      HttpServer::Start(
          {.listen = listen, .setting = setting, .thread_name = "metrics"},
          [&metrics, health = std::move(health), ready = std::move(ready)](
              const HttpRequest& request) { return Answer(request, metrics, health, ready); }));
  return std::unique_ptr<MetricsServer>(new MetricsServer(std::move(server)));
}

}  // namespace headrace
