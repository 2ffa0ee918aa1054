// Who brings the fleet to a number of workers. A driver is one file here; configs name it
// (orchestrator.yaml, `driver`). Owned by the control loop and called by its thread alone.
//
// A driver works by and by: SetWorkers only says what is wanted, Reconcile is called every poll and
// does what can be done now without waiting: starts, drains, replaces those that died. So a call
// that fails is made good by the next one, and nothing is lost when the orchestrator is restarted.
#pragma once

#include <cstddef>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "headrace/v1/fleet.pb.h"

namespace headrace::orchestrate {

class ScalingDriver {
 public:
  virtual ~ScalingDriver() = default;
  virtual std::string_view name() const = 0;
  // False: it only watches, decisions are advice.
  virtual bool scales() const { return true; }
  // False: it must look first, or cannot. Nothing is decided meanwhile.
  virtual bool known() const { return true; }
  virtual size_t wanted() const = 0;  // workers, now
  virtual void SetWorkers(size_t workers) = 0;
  // `fleet`: what the dispatcher says now. An error is told to people, and tried again.
  virtual absl::Status Reconcile(const v1::ObserveFleetReply& fleet) = 0;
  // The orchestrator ends: what lives by it ends within `timeout`, nothing is started any more.
  virtual void Stop(absl::Duration timeout) { (void)timeout; }
};

// Workers that are ready, as the dispatcher has it.
inline size_t ReadyWorkers(const v1::ObserveFleetReply& fleet) {
  size_t ready = 0;
  for (const v1::FleetWorker& worker : fleet.workers()) ready += worker.state() == "ready";
  return ready;
}

}  // namespace headrace::orchestrate
