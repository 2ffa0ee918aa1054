// The orchestrator as a role: its policies, its driver, and the one thread that runs the control
// loop. It keeps nothing that is not measured again: it may be killed at any time.
//
// Owned by the command that runs it (`headrace orchestrator`, `headrace up --workers auto`).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/metrics/metrics.h"
#include "common/process/child_process.h"
#include "common/sync/periodic_task.h"
#include "orchestrator/drivers/scaling_driver.h"
#include "orchestrator/loop/control_loop.h"
#include "orchestrator/pipelines/pipeline_reader.h"
#include "orchestrator/role/orchestrator_config.h"
#include "rpc/dispatcher_client.h"
#include "rpc/fleet_calls.h"

namespace headrace {

class Orchestrator {
 public:
  struct Deps {
    std::shared_ptr<FleetCalls> fleet;
    std::shared_ptr<OperatorCalls> dispatcher;  // that workers are drained through
    const Clock* clock = nullptr;               // these outlive the orchestrator
    Metrics* metrics = nullptr;
    // Driver process: starts a worker that registers with this tag.
    std::function<absl::StatusOr<ChildProcess>(const std::string& tag)> launch;
    // What pipelines are made of; null: it decides nothing about caches.
    const Catalog* catalog = nullptr;
  };
  // INVALID_ARGUMENT: a driver that there is not.
  static absl::StatusOr<std::unique_ptr<Orchestrator>> Start(const OrchestratorConfig& config,
                                                             Deps deps);
  ~Orchestrator();  // Shutdown(2 s)

  // Decides no more. Workers of the driver process end with it; others are left as they are.
  // Idempotent.
  void Shutdown(absl::Duration timeout);

  // Of the last poll; not OK before the first one.
  absl::Status health() const;

 private:
  Orchestrator(const OrchestratorConfig& config, Deps deps);
  void Poll();

  const OrchestratorConfig config_;
  const Deps deps_;
  std::unique_ptr<orchestrate::ScalingDriver> driver_;
  std::unique_ptr<orchestrate::PipelineReader> pipelines_;
  std::unique_ptr<orchestrate::ControlLoop> loop_;
  mutable absl::Mutex mutex_;
  absl::Status health_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<PeriodicTask> thread_;  // last: it uses everything above
};

}  // namespace headrace
