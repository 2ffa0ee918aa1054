// Where caches go: for the jobs that may share, and the tiers with room, the plan that costs least
// over the epochs that are left: build + the building epoch without + the others with + storage.
// One that saves less than 5%, or less than twice what the measurements are uncertain by, is not
// adopted.
//
// A pure function; the control loop asks again when ShouldSolveAgain says so (resolve.h), and
// carries the difference out split by split. Why this way: docs/design/033-placement.md.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orchestrator/placement/cost_model.h"

namespace headrace::orchestrate {

// A cache that is there, or an order of its author's for one that must be.
struct ExistingCache {
  uint64_t key = 0;
  size_t tier = 0;
  double share = 0;  // of the rows, that is filled
};

struct PlacementQuestion {
  std::vector<JobProfile> jobs;  // with random steps split already (SplitRandomSteps)
  ClusterProfile cluster;
  std::vector<ExistingCache> existing;
};

struct PlacementRule {
  double least_saving = 0.05;  // of the cost without
  double sigmas = 2;
  int share_steps = 16;  // partial caches that are tried: 1/16, 2/16, ...
  // A larger part is kept where that costs at most so much more: what is just enough by the model
  // is too little when the model is a little off.
  double share_slack = 0;
};

// One line of `headrace explain`.
struct PlacementCandidate {
  std::optional<CacheChoice> choice;
  double cost = 0;  // of this job alone over its epochs, build and storage included
  EpochPrediction epoch;
  double bytes = 0;
  bool chosen = false;
};

struct JobPlacement {
  std::string job;
  std::optional<CacheChoice> choice;
  EpochPrediction with, without;  // an epoch each
  std::string reason;
  std::vector<PlacementCandidate> candidates;  // no cache, and the best share of each cut and tier
};

struct PlacementDecision {
  std::vector<JobPlacement> jobs;  // in the question's order
  double cost = 0;                 // of all jobs' epochs that are left
  double cost_without = 0;
  double saving_sigma = 0;  // what the saving is uncertain by
};

PlacementDecision DecidePlacement(const PlacementQuestion& question,
                                  const PlacementRule& rule = {});

// What a plan, one choice per job, is predicted to cost; infinite where it does not fit.
double PlanCost(const PlacementQuestion& question,
                const std::vector<std::optional<CacheChoice>>& plan);

// The choices of one job that are legal and fit alone, "no cache" first.
std::vector<std::optional<CacheChoice>> PlacementOptions(const PlacementQuestion& question,
                                                         size_t job, int share_steps);

// Predicted and observed rates of each candidate, a table for people.
std::string ExplainPlacement(const PlacementQuestion& question, const JobPlacement& placement,
                             std::optional<double> observed_rows_per_second);

}  // namespace headrace::orchestrate
