// `headrace explain JOB`: what the steps of a job that runs cost, what holds it back, where its
// caches go and why, with what was predicted of that and what is seen.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "cli/cluster_option.h"

namespace headrace {

// Looks at the job for so long, and prints. NOT_FOUND: the cluster has no such job.
absl::Status ExplainJob(const ClusterOption& cluster, const std::string& job,
                        absl::Duration measure);

}  // namespace headrace
