#include "orchestrator/drivers/kubernetes_driver.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "common/logging/logging.h"
#include "common/status.h"

namespace headrace::orchestrate {
namespace {

constexpr absl::Duration kFirstPause = absl::Seconds(1);
constexpr absl::Duration kLastPause = absl::Seconds(30);
constexpr char kAccount[] = "/var/run/secrets/kubernetes.io/serviceaccount/";

absl::StatusOr<std::string> ReadTrimmed(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) return NotFound("read {}: it cannot be read", path);
  std::string out = text.str();
  while (!out.empty() && (out.back() == '\n' || out.back() == ' ')) out.pop_back();
  return out;
}

std::string TargetOf(const KubernetesOptions& options) {
  return fmt::format("/apis/apps/v1/namespaces/{}/{}s/{}/scale", options.space, options.kind,
                     options.name);
}

// What the API says in an error, in one line.
std::string MessageOf(const HttpAnswer& answer) {
  const auto json = nlohmann::json::parse(answer.body, nullptr, /*allow_exceptions=*/false);
  if (json.is_object() && json.contains("message") && json["message"].is_string())
    return json["message"].get<std::string>();
  return answer.body.substr(0, 200);
}

}  // namespace

absl::Status KubernetesOptions::FillFromPod() {
  if (url.empty()) {
    const char* host = std::getenv("KUBERNETES_SERVICE_HOST");
    const char* port = std::getenv("KUBERNETES_SERVICE_PORT");
    if (host == nullptr || port == nullptr) {
      return FailedPrecondition(
          "kubernetes.url is empty, and this is no pod (KUBERNETES_SERVICE_HOST is not set)");
    }
    const bool v6 = std::string_view(host).find(':') != std::string_view::npos;
    url =
        v6 ? fmt::format("https://[{}]:{}", host, port) : fmt::format("https://{}:{}", host, port);
    if (ca_file.empty()) ca_file = std::string(kAccount) + "ca.crt";
    if (token_file.empty()) token_file = std::string(kAccount) + "token";
  }
  if (space.empty()) {
    HR_ASSIGN_OR_RETURN(space, ReadTrimmed(std::string(kAccount) + "namespace"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<KubernetesDriver>> KubernetesDriver::Make(
    const KubernetesOptions& given, const Clock& clock) {
  KubernetesOptions options = given;
  if (options.name.empty())
    return InvalidArgument("kubernetes.name is empty: it names the {} of workers", options.kind);
  HR_RETURN_IF_ERROR(options.FillFromPod());
  HR_ASSIGN_OR_RETURN(
      std::shared_ptr<HttpClient> client,
      HttpClient::Make(
          {.url = options.url, .ca_file = options.ca_file, .timeout = options.call_timeout}));
  return std::make_unique<KubernetesDriver>(
      options, [client](const HttpCall& call) { return client->Call(call); }, clock);
}

KubernetesDriver::KubernetesDriver(const KubernetesOptions& options, Call call, const Clock& clock)
    : options_(options), call_(std::move(call)), clock_(clock), target_(TargetOf(options)) {}

absl::StatusOr<HttpAnswer> KubernetesDriver::Ask(HttpCall call) const {
  call.target = target_;
  call.headers.emplace_back("Accept", "application/json");
  if (!options_.token_file.empty()) {
    HR_ASSIGN_OR_RETURN(const std::string token, ReadTrimmed(options_.token_file));
    call.headers.emplace_back("Authorization", "Bearer " + token);
  }
  return call_(call);
}

// A Scale, or the reason why there is none.
absl::Status KubernetesDriver::Take(const HttpAnswer& answer, const char* what) {
  if (answer.status == 409) return Aborted("{} {}: somebody else changed it", what, target_);
  if (answer.status < 200 || answer.status >= 300) {
    return Unavailable("{} {}: HTTP {}: {}", what, target_, answer.status, MessageOf(answer));
  }
  const auto json = nlohmann::json::parse(answer.body, nullptr, /*allow_exceptions=*/false);
  try {
    replicas_ = json.at("spec").value("replicas", size_t{0});
    version_ = json.at("metadata").at("resourceVersion").get<std::string>();
  } catch (const nlohmann::json::exception& error) {
    return Unavailable("{} {}: the answer is no Scale: {}", what, target_, error.what());
  }
  return absl::OkStatus();
}

absl::Status KubernetesDriver::Look() {
  HR_ASSIGN_OR_RETURN(const HttpAnswer answer, Ask({.method = "GET"}));
  return Take(answer, "look at");
}

absl::Status KubernetesDriver::Change(size_t workers) {
  const nlohmann::json patch = {{"metadata", {{"resourceVersion", *version_}}},
                                {"spec", {{"replicas", workers}}}};
  HR_ASSIGN_OR_RETURN(const HttpAnswer answer,
                      Ask({.method = "PATCH",
                           .headers = {{"Content-Type", "application/merge-patch+json"}},
                           .body = patch.dump()}));
  return Take(answer, "scale");
}

absl::Status KubernetesDriver::Reconcile(const v1::ObserveFleetReply&) {
  const absl::Duration now = clock_.Steady();
  const bool change = pending_.has_value() && known() && pause_ == absl::ZeroDuration();
  if (now < next_ && !change) return absl::OkStatus();
  absl::Status status;
  if (!change) status = Look();
  if (status.ok() && pending_.has_value() && *pending_ != replicas_) status = Change(*pending_);
  if (absl::IsAborted(status)) {
    // Decided on what is no more: the next window decides anew.
    LogInfo("{}: looking again", OneLine(status));
    pending_.reset();
    status = Look();
  }
  if (!status.ok()) {
    pause_ = std::clamp(2 * pause_, kFirstPause, kLastPause);
    next_ = now + pause_;
    return status;
  }
  pending_.reset();
  pause_ = absl::ZeroDuration();
  next_ = now + options_.refresh;
  return absl::OkStatus();
}

}  // namespace headrace::orchestrate
