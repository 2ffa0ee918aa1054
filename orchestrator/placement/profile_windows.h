// Profiles from what the engine counts: sums up a job's windows, and makes the JobProfile that
// placement asks for. Old windows fade, each step's by itself: what a cache saves is not measured
// any more, and stays known. Plain state, owned by whoever keeps the job's history; no clock.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "orchestrator/observation/observation.h"
#include "orchestrator/placement/profile.h"

namespace headrace::orchestrate {

// The engine's names for what is in front of all steps.
inline constexpr std::string_view kReadStep = "0:read";
inline constexpr std::string_view kCachedStep = "0:cached";

struct ProfileSums {
  std::map<std::string, StepObservation> steps = {};
  double seconds = 0;  // of the windows in which rows were made
};

// Steps that saw no row in the window add nothing.
void AddWindow(const JobObservation& job, double window_seconds, ProfileSums& sums);

// The steps that were not seen at work, "" when all were: of those, nothing is known.
std::string Unmeasured(const ProfileSums& sums, const PipelineFacts& facts);

// Steps, source and keys; the rest is the caller's. Rows are those of the source: each step's are
// found from how many leave the one before for each that enters it, so that it does not matter
// which of them a cache leaves out.
JobProfile ProfileOf(const ProfileSums& sums, const PipelineFacts& facts);

}  // namespace headrace::orchestrate
