// Where caches go, in the running service: windows become profiles, profiles a question, and its
// answer orders for the jobs whose option `cache` is auto. A policy as decision/policy.h has it.
//
// Decides as soon as each of its jobs is known well enough, and again when ShouldSolveAgain says
// so; in between it holds, and tells what was predicted and what is seen.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "orchestrator/decision/policy.h"
#include "orchestrator/placement/placement.h"
#include "orchestrator/placement/placement_memory.h"

namespace headrace::orchestrate {

struct CachingOptions {
  bool scales = false;  // the fleet may be made larger and smaller, between these:
  size_t min_workers = 1;
  size_t max_workers = 64;
  double trainer_price = 20;  // per second
  double worker_price = 1;
  double network_bytes_per_second = 0;  // of a worker; 0: not known, no limit
  PlacementRule rule = {.share_slack = 0.01};
  EvidenceRule evidence = {};
  ResolveRule resolve = {};
};

struct CachingState {
  PlacementMemory memory = {};
};

// One decision for each job with `cache: auto`, with its plan; a hold where there is none.
std::vector<Decision> DecideCaches(const CachingOptions& options, const Observation& observation,
                                   CachingState& state);

std::unique_ptr<Policy> MakeCachingPolicy(const CachingOptions& options);

}  // namespace headrace::orchestrate
