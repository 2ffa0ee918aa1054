// What every role shows about its process: memory, CPU time, threads, open files.
#pragma once

#include <memory>
#include <vector>

#include "common/metrics/metrics.h"

namespace headrace {

// Kept by the role beside `metrics`; read from /proc at each scrape.
using ProcessMetrics = std::vector<std::unique_ptr<Metrics::Function>>;
[[nodiscard]] ProcessMetrics AddProcessMetrics(Metrics& metrics);

}  // namespace headrace
