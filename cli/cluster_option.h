// `--cluster ADDRESS`, `--output text|json` and what the cluster is shown (security_flags.h): what
// every command that talks to a running cluster takes.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/security_flags.h"
#include "rpc/dispatcher_client.h"
#include "rpc/fleet_calls.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace headrace {

class ClusterOption {
 public:
  // `--cluster` falls back to $HEADRACE_CLUSTER, then localhost:5050.
  void Declare(CLI::App& app);
  const std::string& address() const { return address_; }
  bool given() const;  // by the flag or the environment
  const SecurityFlags& security() const { return security_; }
  bool json() const { return output_ == "json"; }
  absl::Duration timeout() const { return absl::Seconds(5); }
  // No connection is made yet: what is wrong with it comes from the first call; see Explain.
  absl::StatusOr<std::unique_ptr<DispatcherClient>> Connect() const;
  absl::StatusOr<std::unique_ptr<FleetCalls>> ConnectFleet() const;
  // A call's answer, or what failed, where, and what to do about it.
  template <typename Reply>
  absl::StatusOr<Reply> Explain(absl::StatusOr<Reply> reply) const {
    if (reply.ok()) return reply;
    return Explained(reply.status());
  }

 private:
  absl::Status Explained(const absl::Status& status) const;

  CLI::Option* named_ = nullptr;
  SecurityFlags security_;
  std::string address_ = "localhost:5050";
  std::string output_ = "text";
};

}  // namespace headrace
