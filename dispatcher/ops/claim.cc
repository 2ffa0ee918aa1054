#include "dispatcher/ops/claim.h"

#include <cmath>

#include "common/status.h"

namespace headrace::dispatch {

absl::Status CheckClaim(const v1::JobOptions& options) {
  if (std::abs(int64_t{options.priority()}) > kMostPriority) {
    return InvalidArgument("priority is {}: it must be {} to {}", options.priority(),
                           -kMostPriority, kMostPriority);
  }
  // Not a number is none of these.
  if (!(options.weight() >= 0 && options.weight() <= kMostClaim)) {
    return InvalidArgument("weight is {}: it must be above 0, and {} at most", options.weight(),
                           kMostClaim);
  }
  if (!(options.least_workers() >= 0 && options.least_workers() <= kMostClaim)) {
    return InvalidArgument("least_workers is {}: it must be 0 to {}", options.least_workers(),
                           kMostClaim);
  }
  if (options.most_workers() != 0 && options.least_workers() > options.most_workers()) {
    return InvalidArgument("least_workers is {}, over most_workers, which is {}",
                           options.least_workers(), options.most_workers());
  }
  return absl::OkStatus();
}

double WeightOf(const v1::JobOptions& options) {
  return options.weight() > 0 ? options.weight() : 1.0;
}

double EffectiveWeight(const v1::JobOptions& options) {
  return WeightOf(options) * std::pow(kPriorityStep, options.priority());
}

}  // namespace headrace::dispatch
