#include "common/metrics/metrics_server.h"

#include <utility>

#include "common/status.h"

namespace headrace {
namespace {

HttpResponse Answer(const HttpRequest& request, const Metrics& metrics,
                    const std::function<absl::Status()>& health) {
  if (request.method != "GET" && request.method != "HEAD") {
    return {.status = 405, .body = "only GET\n"};
  }
  if (request.path == "/metrics") {
    return {.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = metrics.Text()};
  }
  if (request.path == "/healthz") {
    const absl::Status status = health ? health() : absl::OkStatus();
    if (status.ok()) return {.body = "ok\n"};
    return {.status = 503, .body = OneLine(status) + "\n"};
  }
  return {.status = 404, .body = "there are /metrics and /healthz\n"};
}

}  // namespace

absl::StatusOr<std::unique_ptr<MetricsServer>> MetricsServer::Start(
    const std::string& listen, const std::string& setting, const Metrics& metrics,
    std::function<absl::Status()> health) {
  HR_ASSIGN_OR_RETURN(
      std::unique_ptr<HttpServer> server,
      HttpServer::Start({.listen = listen, .setting = setting, .thread_name = "metrics"},
                        [&metrics, health = std::move(health)](const HttpRequest& request) {
                          return Answer(request, metrics, health);
                        }));
  return std::unique_ptr<MetricsServer>(new MetricsServer(std::move(server)));
}

}  // namespace headrace
