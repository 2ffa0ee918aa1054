// How many workers a cluster shall have (docs/design/031-fleet.md): a pure policy.
//
// From medians it knows what each job's trainers take when they never wait (lambda) and what a busy
// worker makes; from those the cheapest fleet, and jumps there in one step. Then it believes what
// trainers see more than the model: while they wait more than `stall_high` of their time it goes
// up; while none waits and their queues are full it tries fewer, if that is cheaper. There is no
// terminal state, no ratio to a baseline that may be zero, and one odd window moves nothing.
// Windows in which the fleet is not what was asked for (workers start, or were preempted) teach it
// about the jobs, and are never a reason to scale.
#pragma once

#include <map>
#include <memory>

#include "orchestrator/autoscale/cost_model.h"
#include "orchestrator/autoscale/evidence.h"
#include "orchestrator/decision/policy.h"

namespace headrace::orchestrate {

struct AutoscaleOptions {
  size_t min_workers = 1;  // 0: none while no job runs
  size_t max_workers = 64;
  Prices prices = {};
  double stall_high = 0.02;             // of trainers' time, above which they wait too much
  double stall_low = 0.005;             // below which they do not wait
  double queue_high = 0.8;              // of their prefetch, above which it is full
  size_t calm_windows = 3;              // without waiting, before fewer are tried
  double idle_seconds = 60;             // without any job, before the fleet goes to min_workers
  double start_patience_seconds = 180;  // for workers that were asked for to come up
};

struct AutoscaleState {
  Evidence evidence = {};
  size_t settled = 0;  // windows in a row with the fleet that was asked for
  double idle_seconds = 0;
  double short_seconds = 0;  // with fewer workers than asked for
  bool changing = false;     // workers start or leave because we asked for it
  // Numbers that were tried and were too few, with the need at that time: not tried again until
  // the need has changed, or long after.
  struct TooFew {
    double need = 0;
    size_t windows_left = 0;
    size_t patience = 0;
  };
  std::map<size_t, TooFew> too_few = {};
};

// The first decision is the fleet's; one kSetShare per job follows when the fleet is too small for
// all of them.
std::vector<Decision> DecideWorkers(const AutoscaleOptions& options, const Observation& observation,
                                    AutoscaleState& state);

inline std::unique_ptr<Policy> MakeAutoscaler(const AutoscaleOptions& options) {
  return MakePolicy<AutoscaleOptions, AutoscaleState>("autoscale", options, DecideWorkers);
}

}  // namespace headrace::orchestrate
