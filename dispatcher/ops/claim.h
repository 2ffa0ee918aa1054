// What a job may claim of the workers: `weight`, `priority`, `least_workers`, `most_workers` of its
// options (docs/fleet.md). Pure.
#pragma once

#include "absl/status/status.h"
#include "headrace/v1/dispatcher.pb.h"

namespace headrace::dispatch {

constexpr int kMostPriority = 8;      // and -8 is the least
constexpr double kMostClaim = 1e6;    // of weights and workers
constexpr double kPriorityStep = 64;  // what one more is worth where workers are too few

// INVALID_ARGUMENT names the option.
absl::Status CheckClaim(const v1::JobOptions& options);
// 0 stands for 1.
double WeightOf(const v1::JobOptions& options);
// A worker's round robin is by this: whoever has a higher priority comes first, and leaves to the
// others what its trainers do not take, and a 64th.
double EffectiveWeight(const v1::JobOptions& options);

}  // namespace headrace::dispatch
