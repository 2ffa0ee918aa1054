// Where the orchestrator would have rows kept: told to the dispatcher with each poll, all of it
// each time, since what is left out is taken back. Owned by the control loop, its thread's.
#pragma once

#include <cstdint>
#include <map>

#include "absl/time/time.h"
#include "headrace/v1/fleet.pb.h"
#include "orchestrator/decision/cache_plan.h"

namespace headrace::orchestrate {

class CacheOrders {
 public:
  void Take(const CachePlan& plan, absl::Time now);
  // What jobs were told by an orchestrator that is gone.
  void Adopt(const v1::ObserveFleetReply& fleet);
  // Jobs that `fleet` has not are forgotten.
  void KeepOnly(const v1::ObserveFleetReply& fleet);
  void Fill(v1::ObserveFleetRequest& request) const;

 private:
  std::map<uint64_t, v1::JobCache> orders_;  // by job
};

}  // namespace headrace::orchestrate
