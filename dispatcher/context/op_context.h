// What an op or a duty works with: made by the service for one call, under its mutex.
#pragma once

#include "absl/time/time.h"
#include "dispatcher/context/changes.h"
#include "dispatcher/context/holdings.h"
#include "dispatcher/context/liveness.h"
#include "dispatcher/context/restores.h"
#include "dispatcher/context/stragglers.h"
#include "dispatcher/context/telemetry.h"
#include "dispatcher/dispatcher_config.h"

namespace headrace::dispatch {

struct OpContext {
  Changes& changes;
  Liveness& liveness;
  Telemetry& telemetry;
  Stragglers& stragglers;
  Restores& restores;
  Holdings& holdings;
  const DispatcherConfig& config;
  absl::Duration now;  // steady

  const State& state() const { return changes.state(); }
};

}  // namespace headrace::dispatch
