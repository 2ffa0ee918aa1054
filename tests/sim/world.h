// What the models of a history share.
#pragma once

#include "tests/sim/history.h"
#include "tests/sim/network.h"
#include "tests/sim/random.h"
#include "tests/sim/scheduler.h"
#include "tests/sim/truth.h"

namespace headrace::sim {

struct World {
  Scheduler& scheduler;
  Random& random;
  const History& history;
  Network& network;
  Truth& truth;
  std::vector<std::unique_ptr<WorkerModel>>& workers;
  uint64_t next_uid = 1;
};

}  // namespace headrace::sim
