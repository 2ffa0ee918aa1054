// The caches of a worker, as its config says.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "cache/tiered_cache.h"
#include "common/clock.h"
#include "worker/worker_config.h"

namespace headrace {

// Recovers what is on disk. Without tiers where the config names none. INVALID_ARGUMENT names the
// key that is wrong.
absl::StatusOr<std::unique_ptr<TieredCache>> OpenCaches(const CacheConfig& config,
                                                        const Clock& clock);

}  // namespace headrace
