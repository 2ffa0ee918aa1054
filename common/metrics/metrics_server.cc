#include "common/metrics/metrics_server.h"

#include <utility>

#include "common/status.h"

namespace headrace {
namespace {

HttpResponse Answer(const HttpRequest& request, const Metrics& metrics,
                    const std::vector<ProbePage>& probes) {
  if (request.method != "GET" && request.method != "HEAD") {
    return {.status = 405, .body = "only GET\n"};
  }
  if (request.path == "/metrics") {
    return {.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = metrics.Text()};
  }
  std::string pages = "/metrics";
  for (const ProbePage& probe : probes) {
    if (request.path == probe.path) {
      const absl::StatusOr<std::string> said = probe.check();
      if (said.ok()) return {.body = *said + "\n"};
      return {.status = 503, .body = OneLine(said.status()) + "\n"};
    }
    pages += ", " + probe.path;
  }
  return {.status = 404, .body = "there are " + pages + "\n"};
}

}  // namespace

absl::StatusOr<std::unique_ptr<MetricsServer>> MetricsServer::Start(
    const std::string& listen, const std::string& setting, const Metrics& metrics,
    std::function<absl::Status()> health, std::function<absl::Status()> ready) {
  auto healthy = [health = std::move(health)]() -> absl::StatusOr<std::string> {
    if (health) HR_RETURN_IF_ERROR(health());
    return std::string("ok");
  };
  auto at_work = [healthy, ready = std::move(ready)]() -> absl::StatusOr<std::string> {
    if (ready) {
      HR_RETURN_IF_ERROR(healthy().status());
      HR_RETURN_IF_ERROR(ready());
    }
    return healthy();
  };
  return Start(listen, setting, metrics,
               std::vector<ProbePage>{{"/healthz", healthy}, {"/readyz", std::move(at_work)}});
}

absl::StatusOr<std::unique_ptr<MetricsServer>> MetricsServer::Start(const std::string& listen,
                                                                    const std::string& setting,
                                                                    const Metrics& metrics,
                                                                    std::vector<ProbePage> probes) {
  HR_ASSIGN_OR_RETURN(
      std::unique_ptr<HttpServer> server,
      HttpServer::Start({.listen = listen, .setting = setting, .thread_name = "metrics"},
                        [&metrics, probes = std::move(probes)](const HttpRequest& request) {
                          return Answer(request, metrics, probes);
                        }));
  return std::unique_ptr<MetricsServer>(new MetricsServer(std::move(server)));
}

}  // namespace headrace
