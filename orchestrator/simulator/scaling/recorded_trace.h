// A recording of a real cluster (`headrace run --record-trace`: an observation a line) as a trace
// for the suite `scaling`: what each job's trainers take and what a worker makes, level by level. A
// level is the median of its windows; two windows in a row that are both a quarter off on one side
// begin the next. What the recording does not tell is assumed: prices, and how long workers take to
// come.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "orchestrator/observation/observation.h"
#include "orchestrator/simulator/scaling/trace.h"

namespace headrace::orchestrate {

// Errors name the file and the line.
absl::StatusOr<std::vector<Observation>> ReadRecording(const std::string& path);

// As long as the recording, and `least_seconds` at least: the last levels of jobs that ran at its
// end go on. INVALID_ARGUMENT: no job that took anything is in it.
absl::StatusOr<ScalingTrace> TraceOf(const std::vector<Observation>& recording,
                                     double least_seconds);

}  // namespace headrace::orchestrate
