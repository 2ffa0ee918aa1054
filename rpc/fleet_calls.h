// The service Fleet (fleet.proto), which dispatchers serve beside their own: what the orchestrator
// and `headrace top` measure by, and what workers tell of their load. FleetHandler is the
// dispatcher's side, FleetCalls the caller's.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "headrace/v1/fleet.pb.h"
#include "rpc/channels.h"

namespace grpc {
class Service;
}

namespace headrace {

// Methods are called by many threads at once.
class FleetHandler {
 public:
  virtual ~FleetHandler() = default;
  virtual absl::StatusOr<v1::ObserveFleetReply> ObserveFleet(
      const v1::ObserveFleetRequest& request) = 0;
  virtual absl::StatusOr<v1::ReportLoadReply> ReportLoad(const v1::ReportLoadRequest& request) = 0;
};

// Each call is bounded by its timeout. Thread-safe.
class FleetCalls {
 public:
  virtual ~FleetCalls() = default;
  virtual absl::StatusOr<v1::ObserveFleetReply> ObserveFleet(const v1::ObserveFleetRequest& request,
                                                             absl::Duration timeout) = 0;
  virtual absl::StatusOr<v1::ReportLoadReply> ReportLoad(const v1::ReportLoadRequest& request,
                                                         absl::Duration timeout) = 0;
};

// `handler` outlives the service. `token`: the `authorization` that each call must show; empty:
// none.
std::unique_ptr<grpc::Service> MakeGrpcFleetService(FleetHandler& handler, std::string token = {});

// Of the one of `dispatchers` ("host:port, host:port") that leads, found as
// rpc/failover_dispatcher_client.h says. Its errors for addresses that are none.
absl::StatusOr<std::unique_ptr<FleetCalls>> DialFleet(std::string_view dispatchers,
                                                      const Clock& clock,
                                                      const ChannelOptions& options = {});

}  // namespace headrace
