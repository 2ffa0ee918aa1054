// `--cluster ADDRESS` and `--output text|json`: what every command that talks to a running cluster
// takes.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "rpc/dispatcher_client.h"

namespace CLI {
class App;
}

namespace headrace {

class ClusterOption {
 public:
  // `--cluster` falls back to $HEADRACE_CLUSTER, then localhost:5050.
  void Declare(CLI::App& app);
  const std::string& address() const { return address_; }
  bool json() const { return output_ == "json"; }
  absl::Duration timeout() const { return absl::Seconds(5); }
  // UNAVAILABLE comes from the first call, with the address.
  absl::StatusOr<std::unique_ptr<DispatcherClient>> Connect() const;

 private:
  std::string address_ = "localhost:5050";
  std::string output_ = "text";
};

}  // namespace headrace
