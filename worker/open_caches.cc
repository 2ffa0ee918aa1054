#include "worker/open_caches.h"

#include <utility>
#include <vector>

#include "cache/disk_tier.h"
#include "cache/memory_tier.h"
#include "common/logging/logging.h"
#include "common/status.h"

namespace headrace {

absl::StatusOr<std::unique_ptr<TieredCache>> OpenCaches(const CacheConfig& config,
                                                        const Clock& clock) {
  auto prefixes = std::make_shared<PrefixUse>(clock);
  std::vector<std::unique_ptr<CacheTier>> tiers;
  if (config.memory_bytes.value > 0) {
    tiers.push_back(
        std::make_unique<MemoryTier>(static_cast<uint64_t>(config.memory_bytes.value), prefixes));
  }
  if (!config.disk.path.empty()) {
    DiskTier::Options options;
    options.path = config.disk.path;
    options.bytes = static_cast<uint64_t>(config.disk.bytes.value);
    HR_ASSIGN_OR_RETURN(std::unique_ptr<DiskTier> disk,
                        DiskTier::Open(std::move(options), prefixes, clock));
    const TierUse use = disk->use();
    LogInfo("cache in {}: {} splits, {} of {}", disk->directory(), use.entries,
            HumanBytes(static_cast<double>(use.bytes)), HumanBytes(static_cast<double>(use.limit)));
    tiers.push_back(std::move(disk));
  }
  return std::make_unique<TieredCache>(std::move(tiers), std::move(prefixes));
}

}  // namespace headrace
