// The rules that our autoscaler is measured against, as policies: written down from their public
// sources (docs/design/031-fleet.md has what and where), with the constants that those have. Each
// looks at one job, or at one fleet; none is used outside the simulator.
#pragma once

#include <memory>

#include "orchestrator/decision/policy.h"

namespace headrace::orchestrate {

struct RuleOptions {
  size_t most_workers = 200;
};

// Cachew: one worker more while batch time falls by more than 7%, then settled; looked at again
// when the queue or the batch time has grown by half. Of the one job in the observation.
std::unique_ptr<Policy> MakeCachewRule(const RuleOptions& options);

// Pecan: Cachew's climb, then workers on the trainer's spare cores (Action.where is "local") until
// batch time rises by 10%, then fewer remote ones while that costs nothing; then it ends.
std::unique_ptr<Policy> MakePecanRule(const RuleOptions& options);

// Kubernetes' HorizontalPodAutoscaler on CPU, with its defaults: 15 s, tolerance 10%, at most twice
// as many or four more a step, down by the highest wish of the last five minutes. Target 80%.
std::unique_ptr<Policy> MakeCpuHpa(const RuleOptions& options);

}  // namespace headrace::orchestrate
