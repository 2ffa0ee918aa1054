// Runs one policy on one trace and scores it. The same function for ours and for the rules that it
// is measured against; only how their windows are cut differs, as each has it in its own system.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "orchestrator/decision/policy.h"
#include "orchestrator/simulator/scaling/simulated_fleet.h"
#include "orchestrator/simulator/scaling/trace.h"

namespace headrace::orchestrate {

// When a policy is asked: every so many seconds, or every so many batches.
struct Windows {
  double seconds = 0;
  double batches = 0;
  double drop_first = 0;         // batches, of a job
  double drop_after_change = 0;  // batches
  bool anew_when_up = false;     // begun anew when the fleet is what was asked for
};

struct Contestant {
  std::string name = {};
  SimulatedFleet::Layout layout = SimulatedFleet::Layout::kShared;
  Windows windows;
  std::function<std::unique_ptr<Policy>(const ScalingTrace&)> make;  // one per group
};

struct Score {
  // A segment is the time between two changes of what the cheapest fleet is. Reached: within 5% of
  // its cost for a minute on end. Those never reached count with all of their length.
  size_t segments = 0;
  size_t reached = 0;
  double windows_to_cheapest = 0;  // of the contestant's own, over all segments
  double seconds_to_cheapest = 0;
  double worker_seconds_wasted = 0;  // paid for beyond the cheapest fleet
  double stall_seconds = 0;          // of jobs
  size_t reversals = 0;              // changes of direction within a segment
  // Every few seconds: for plots.
  std::vector<double> at = {};
  std::vector<double> workers = {};
  std::vector<double> cheapest = {};
};

Score Compete(const Contestant& contestant, const ScalingTrace& trace);

}  // namespace headrace::orchestrate
