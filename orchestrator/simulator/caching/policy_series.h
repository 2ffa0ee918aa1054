// The plots of the cache suites.
#pragma once

#include <vector>

#include "orchestrator/simulator/caching/policy_figure.h"
#include "orchestrator/simulator/suite.h"

namespace headrace::orchestrate {

// Each world's cost over its best plan, sorted: ours, Cachew's rule, no cache.
std::vector<Series> PlacementSeries(const FigureEffort& effort);
// One run's capacity over its epochs: the controller, the autoscaler by fill, the hill climber, the
// knee.
std::vector<Series> CapacitySeries(const FigureEffort& effort);

}  // namespace headrace::orchestrate
