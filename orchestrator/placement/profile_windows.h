// Profiles from what the engine counts: sums up a job's windows, and makes the JobProfile that
// placement asks for, with the variance of single rows estimated from how the windows' means
// scatter. Plain state, owned by whoever keeps the job's history; no clock.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "orchestrator/decision/decision.h"
#include "orchestrator/observation/observation.h"
#include "orchestrator/placement/placement.h"

namespace headrace::orchestrate {

struct StepSums {
  double rows_in = 0, rows_out = 0, bytes_in = 0, bytes_out = 0, cpu_seconds = 0;
  // Welford's, over windows weighted by their rows.
  double mean = 0, scatter = 0;
  size_t windows = 0;
};
struct ProfileSums {
  std::map<std::string, StepSums> steps;
  std::vector<std::string> order;  // of the pipeline
  double seconds = 0;
};

// Steps that saw no row in the window add nothing.
void AddWindow(const JobObservation& job, double window_seconds, ProfileSums& sums);

// `known`: all that is not measured by steps, with its steps' names, flags and keys, in the
// pipeline's order; a step that was not measured keeps its numbers. The first step's rows in are
// the source's.
JobProfile ProfileOf(const ProfileSums& sums, const JobProfile& known);

// What the control loop carries out and shows.
Decision AsDecision(const PlacementQuestion& question, const JobPlacement& placement);

}  // namespace headrace::orchestrate
