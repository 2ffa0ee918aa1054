#include "cli/cluster_option.h"

#include <CLI/CLI.hpp>

#include "common/clock.h"
#include "common/status.h"
#include "rpc/call_security.h"
#include "rpc/failover_dispatcher_client.h"

namespace headrace {

void ClusterOption::Declare(CLI::App& app) {
  named_ = app.add_option(
                  "--cluster", address_,
                  "the dispatcher's address, host:port or unix:/path; of several, joined by commas")
               ->envname("HEADRACE_CLUSTER")
               ->capture_default_str();
  app.add_option("--output", output_, "text (tables) or json")
      ->check(CLI::IsMember({"text", "json"}));
  security_.Declare(app);
}

bool ClusterOption::given() const { return named_ != nullptr && named_->count() > 0; }

absl::StatusOr<std::unique_ptr<DispatcherClient>> ClusterOption::Connect() const {
  HR_ASSIGN_OR_RETURN(const ChannelOptions dial,
                      MakeChannelOptions(security_.tls, security_.token_file));
  return DialDispatchers(address_, RealClock(), dial);
}

absl::StatusOr<std::unique_ptr<FleetCalls>> ClusterOption::ConnectFleet() const {
  HR_ASSIGN_OR_RETURN(const ChannelOptions dial,
                      MakeChannelOptions(security_.tls, security_.token_file));
  return DialFleet(address_, RealClock(), dial);
}

absl::Status ClusterOption::Explained(const absl::Status& status) const {
  const std::string_view message(status.message().data(), status.message().size());
  if (absl::IsDeadlineExceeded(status)) {
    return Unavailable(
        "the dispatcher at {} did not answer within {}: is it overloaded, or stopped? ({})",
        address_, absl::FormatDuration(timeout()), message);
  }
  if (!absl::IsUnavailable(status) || IsTlsMismatch(status)) return status;
  return Unavailable(
      "no dispatcher answers at {}: start one (`headrace up`, `headrace dispatcher`), or name its "
      "address with --cluster or HEADRACE_CLUSTER ({})",
      address_, message);
}

}  // namespace headrace
