// What an op or a duty works with: made by the service for one call, under its mutex.
#pragma once

#include "absl/time/time.h"
#include "dispatcher/changes.h"
#include "dispatcher/dispatcher_config.h"
#include "dispatcher/liveness.h"
#include "dispatcher/telemetry.h"

namespace headrace::dispatch {

struct OpContext {
  Changes& changes;
  Liveness& liveness;
  Telemetry& telemetry;
  const DispatcherConfig& config;
  absl::Duration now;  // steady

  const State& state() const { return changes.state(); }
};

}  // namespace headrace::dispatch
