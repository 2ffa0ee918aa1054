// The last measurements that clients and workers sent along: for operators and the orchestrator,
// never for decisions about leases. And where the orchestrator would have rows kept. Not durable.
// Guarded by the service's mutex.
#pragma once

#include "absl/container/flat_hash_map.h"
#include "common/ids.h"
#include "headrace/v1/dispatcher.pb.h"
#include "headrace/v1/fleet.pb.h"

namespace headrace::dispatch {

struct Telemetry {
  absl::flat_hash_map<ClientId, v1::ClientLoad> loads;
  absl::flat_hash_map<ClientId, v1::StepsReport> steps;  // of the epoch that it reads
  absl::flat_hash_map<TaskId, v1::TaskStats> stats;      // of running epochs
  absl::flat_hash_map<JobId, v1::JobCache> caches;       // as the orchestrator told last
};

}  // namespace headrace::dispatch
