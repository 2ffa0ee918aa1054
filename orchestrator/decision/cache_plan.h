// Where rows of a job are to be kept, with all that it was reckoned from: what a policy of caches
// answers beside its sentence, for whoever carries it out and for `headrace explain`. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orchestrator/observation/observation.h"

namespace headrace::orchestrate {

// "Rows" are records of the source; all figures of a step are per row.
struct PlanStep {
  std::string step = {};
  double cpu_seconds = 0;
  double error = 0;         // of it, relative standard error
  double bytes = 0;         // that leave it
  double rows = 1;          // that reach it
  std::string no_cut = {};  // why rows cannot be kept behind it
};

struct PlanCandidate {
  std::optional<CachePlacement> placement = {};  // nullopt: no cache
  std::string after = {};                        // which step
  double bytes = 0;
  double cost = 0;  // over the epochs left, trainers that wait included
  double rows_per_second = 0;
  int workers = 0;
  std::string bottleneck = {};
  bool chosen = false;
};

struct CachePlan {
  uint64_t job = 0;
  // Nullopt: as the pipeline says, since nothing could be decided.
  std::optional<CachePlacement> placement = {};
  bool solved = false;
  std::string reason = {};
  std::vector<PlanStep> steps = {};
  std::vector<PlanCandidate> candidates = {};  // the cheapest first
  double rows = 0;                             // of an epoch
  double epochs_left = 0;                      // that will begin
  double demand = 0;                           // rows/s that the trainers would take
  // Rows/s with the workers that there are; and what was last seen, 0: nothing yet.
  double predicted = 0;
  double predicted_without = 0;
  double observed = 0;
  double observed_without = 0;
  int workers = 0;
  std::string bottleneck = {};
  std::string bottleneck_without = {};
};

}  // namespace headrace::orchestrate
