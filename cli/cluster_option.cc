#include "cli/cluster_option.h"

#include <CLI/CLI.hpp>

#include "common/clock.h"
#include "common/status.h"
#include "rpc/failover_dispatcher_client.h"

namespace headrace {

void ClusterOption::Declare(CLI::App& app) {
  app.add_option("--cluster", address_,
                 "the dispatcher's address, host:port or unix:/path; of several, joined by commas")
      ->envname("HEADRACE_CLUSTER")
      ->capture_default_str();
  app.add_option("--output", output_, "text (tables) or json")
      ->check(CLI::IsMember({"text", "json"}));
}

absl::StatusOr<std::unique_ptr<DispatcherClient>> ClusterOption::Connect() const {
  return DialDispatchers(address_, RealClock());
}

}  // namespace headrace
