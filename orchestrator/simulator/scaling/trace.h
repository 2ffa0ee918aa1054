// A made-up cluster for the suite `scaling`: jobs with their trainers' speed and their rows' cost,
// what changes when, which workers are preempted. All of it follows from the seed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orchestrator/autoscale/cost_model.h"

namespace headrace::orchestrate {

struct TraceJob {
  std::string name = {};
  double demand = 0;       // batches/s that its trainers take when they never wait
  double worker_rate = 0;  // batches/s that one worker makes for it
  // How busy a worker's threads are when it makes all it can: below 1 where it waits for files, or
  // for subprocesses.
  double full_busy = 1;
  double begins = 0;  // seconds
  double ends = 0;
};

struct TraceStep {  // from then on
  double at = 0;
  size_t job = 0;
  double demand_factor = 1;
  double rate_factor = 1;
};

struct Preemption {
  double at = 0;
  double which = 0;  // of the workers that run then, 0 to 1
};

struct ScalingTrace {
  uint64_t seed = 0;
  std::string kind = {};  // "steady", "demand steps", "cost steps", "preemptions", "two jobs"
  double seconds = 0;
  double noise = 0;  // of what a window measures: standard deviation of its logarithm
  Prices prices = {};
  double worker_start_seconds = 0;
  size_t most_workers = 64;
  size_t spare_local =
      0;  // workers that fit into the trainer's spare cores: Pecan's rule uses them
  std::vector<TraceJob> jobs = {};
  std::vector<TraceStep> steps = {};
  std::vector<Preemption> preemptions = {};

  // As it is at that time; demand 0: it does not run.
  TraceJob JobAt(size_t job, double at) const;
  // Times at which the cheapest fleet may change, the beginning among them, ascending.
  std::vector<double> Changes() const;
};

// Kinds and noise (.05, .10) take turns with the seed.
ScalingTrace MakeScalingTrace(uint64_t seed, double seconds);

}  // namespace headrace::orchestrate
