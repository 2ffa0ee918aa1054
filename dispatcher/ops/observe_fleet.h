// What State and Telemetry know of the fleet, for ObserveFleet; workers' own loads are added by the
// FleetBoard. Called under the service's mutex, as every op.
#pragma once

#include <string>

#include "dispatcher/context/op_context.h"
#include "headrace/v1/fleet.pb.h"

namespace headrace::dispatch {

// `job_name`: empty for all.
v1::ObserveFleetReply ObserveFleet(OpContext& context, const std::string& job_name);

}  // namespace headrace::dispatch
