// What State and Telemetry know of the fleet, for ObserveFleet; workers' own loads are added by the
// FleetBoard. Called under the service's mutex, as every op.
#pragma once

#include "dispatcher/context/op_context.h"
#include "headrace/v1/fleet.pb.h"

namespace headrace::dispatch {

// Of the jobs that the request asks for. Keeps where an orchestrator would have rows kept.
v1::ObserveFleetReply ObserveFleet(OpContext& context, const v1::ObserveFleetRequest& request);

}  // namespace headrace::dispatch
