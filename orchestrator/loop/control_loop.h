// Observe, decide, carry out, keep: one round of it is a Poll(). Between polls it waits for
// nothing; a poll is bounded by the call's timeout. Owned by the Orchestrator, whose one thread
// calls it.
//
// A window is `window` long by the dispatcher's clock, and is begun anew when the fleet has become
// what was asked for. While the dispatcher is away nothing is decided: the fleet stays as it is.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/logging/logging.h"
#include "common/metrics/metrics.h"
#include "orchestrator/decision/policy.h"
#include "orchestrator/drivers/scaling_driver.h"
#include "orchestrator/loop/cache_orders.h"
#include "orchestrator/observation/collector.h"
#include "orchestrator/pipelines/pipeline_reader.h"
#include "orchestrator/timeline/timeline.h"
#include "rpc/fleet_calls.h"

namespace headrace::orchestrate {

class ControlLoop {
 public:
  struct Options {
    absl::Duration window = absl::Seconds(10);
    absl::Duration call_timeout = absl::Seconds(2);
  };
  struct Deps {
    FleetCalls* fleet = nullptr;  // these outlive the loop
    ScalingDriver* driver = nullptr;
    const Clock* clock = nullptr;
    Metrics* metrics = nullptr;
    // For policies of caches; null: there are none.
    PipelineReader* pipelines = nullptr;
  };
  // `policies` are asked in their order. `uid`: of this process, random, not 0.
  ControlLoop(const Options& options, Deps deps, std::vector<std::unique_ptr<Policy>> policies,
              uint64_t uid);

  // An error (the dispatcher is away, a driver could not do something) is logged and counted, too.
  absl::Status Poll();

  const Timeline& timeline() const { return timeline_; }

 private:
  absl::StatusOr<v1::ObserveFleetReply> Ask(bool pipelines);
  // What an orchestrator before this one has told jobs, and goes on until something is decided.
  absl::Status Adopt();
  absl::Status CutWindow(const v1::ObserveFleetReply& fleet);
  void Decide(const Observation& seen);
  void Show(const Observation& seen);
  void Show(const Observation& seen, const CachePlan& plan);

  const Options options_;
  const Deps deps_;
  const std::vector<std::unique_ptr<Policy>> policies_;
  const uint64_t uid_;
  Timeline timeline_;
  Collector collector_;
  CacheOrders orders_;
  uint64_t cluster_ = 0;    // that was adopted; 0: none yet
  bool as_wanted_ = false;  // the fleet, at the last poll
  LogLimiter away_{absl::Seconds(30)};
  LogLimiter trouble_{absl::Seconds(10)};
  Gauge* const wanted_;
  Gauge* const ready_;
  Counter* const failures_;
};

}  // namespace headrace::orchestrate
