// What workers last told of their load, and what an orchestrator decided lately. For people and the
// orchestrator; no decision of the dispatcher reads it, and it is lost with the process. Owned by
// the service; thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <map>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "headrace/v1/fleet.pb.h"

namespace headrace {

class FleetBoard {
 public:
  static constexpr size_t kKeptDecisions = 200;

  void Report(const v1::ReportLoadRequest& request);
  // Keeps what the request tells. INVALID_ARGUMENT: more decisions than are kept.
  absl::Status Take(const v1::ObserveFleetRequest& request);
  // Adds loads to the workers that `reply` has, decisions where they were asked for, and forgets
  // other workers' loads.
  void Fill(bool decisions, v1::ObserveFleetReply& reply);

 private:
  absl::Mutex mutex_;
  std::map<uint64_t, v1::WorkerLoad> loads_ ABSL_GUARDED_BY(mutex_);
  std::deque<v1::FleetDecision> decisions_ ABSL_GUARDED_BY(mutex_);  // the newest last
  uint64_t orchestrator_ ABSL_GUARDED_BY(mutex_) = 0;                // that decided them last
  uint64_t last_ ABSL_GUARDED_BY(mutex_) = 0;                        // its last decision's number
};

}  // namespace headrace
