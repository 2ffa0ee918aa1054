// The driver `kubernetes`: the `scale` subresource of a Deployment or StatefulSet, and nothing else
// of the API. Which pods go is Kubernetes' choice; each is drained by its preStop hook (the chart).
//
// Leader-safe: a change carries the version that it was decided on, so that of two writers the
// second is refused (409), looks again and decides again. What somebody else set is taken for
// what is wanted. While the API does not answer nothing is known and nothing is changed; it is
// asked again after pauses that grow to 30 s.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/http/http_client.h"
#include "orchestrator/drivers/scaling_driver.h"

namespace headrace::orchestrate {

struct KubernetesOptions {
  std::string url = {};      // of the API server
  std::string ca_file = {};  // of its certificate
  std::string token_file =
      {};                  // of the service account; read for each call: it is renewed in place
  std::string space = {};  // namespace
  std::string kind = "deployment";
  std::string name = {};
  absl::Duration refresh = absl::Seconds(5);  // between looks
  absl::Duration call_timeout = absl::Seconds(5);

  // Where a pod finds what is left empty. FAILED_PRECONDITION: not in a pod.
  absl::Status FillFromPod();
};

class KubernetesDriver final : public ScalingDriver {
 public:
  using Call = std::function<absl::StatusOr<HttpAnswer>(const HttpCall&)>;

  // INVALID_ARGUMENT: kind, name, URL, certificates.
  static absl::StatusOr<std::unique_ptr<KubernetesDriver>> Make(const KubernetesOptions& options,
                                                                const Clock& clock);
  // `call` reaches the API server.
  KubernetesDriver(const KubernetesOptions& options, Call call, const Clock& clock);

  std::string_view name() const override { return "kubernetes"; }
  bool known() const override { return version_.has_value(); }
  size_t wanted() const override { return pending_.value_or(replicas_); }
  void SetWorkers(size_t workers) override { pending_ = workers; }
  absl::Status Reconcile(const v1::ObserveFleetReply& fleet) override;

 private:
  absl::Status Look();
  absl::Status Change(size_t workers);
  absl::StatusOr<HttpAnswer> Ask(HttpCall call) const;
  absl::Status Take(const HttpAnswer& answer, const char* what);

  const KubernetesOptions options_;
  const Call call_;
  const Clock& clock_;
  const std::string target_;
  size_t replicas_ = 0;
  std::optional<std::string> version_;  // resourceVersion that replicas_ is of; none: not known
  std::optional<size_t> pending_;       // wanted and not written yet
  absl::Duration next_ = -absl::InfiniteDuration();  // steady
  absl::Duration pause_ = absl::ZeroDuration();
};

}  // namespace headrace::orchestrate
