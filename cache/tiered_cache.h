// A worker's caches as one: its tiers in the order in which they are looked into, fastest first.
//
// Owned by the worker; outlives fills and readers. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "cache/prefix_use.h"
#include "cache/tier.h"

namespace headrace {

class TieredCache {
 public:
  // `tiers` share `prefixes`.
  TieredCache(std::vector<std::unique_ptr<CacheTier>> tiers, std::shared_ptr<PrefixUse> prefixes);

  // The tiers that `tier` allows: its name, or "auto" for all. Null: a miss (counted).
  std::unique_ptr<CachedSplit> Find(const CacheKey& key, std::string_view tier = "auto");

  // Not a use, and no miss if it does not.
  bool Holds(const CacheKey& key, std::string_view tier = "auto") const;

  // A fill that goes into the first tier that has room for it, moving on to the next when that one
  // runs out. Null: another fill of this key is under way, it is there already, or there is no
  // room.
  std::unique_ptr<CacheFill> Begin(const CacheKey& key, std::string_view tier = "auto");

  PrefixUse& prefixes() { return *prefixes_; }
  const std::vector<std::unique_ptr<CacheTier>>& tiers() const { return tiers_; }
  bool empty() const { return tiers_.empty(); }
  uint64_t misses() const { return misses_.load(std::memory_order_relaxed); }

 private:
  friend class TieredFill;
  // Who writes what. Lives on in the leases.
  struct Writers {
    absl::Mutex mutex;
    std::set<std::string> slots ABSL_GUARDED_BY(mutex);
  };
  struct Begun {
    std::unique_ptr<CacheFill> fill;
    size_t tier = 0;
  };
  // In the first tier from `first` on that takes it.
  Begun BeginIn(size_t first, const CacheKey& key, std::string_view tier,
                const std::shared_ptr<void>& lease);
  static bool Allows(std::string_view asked, const CacheTier& tier) {
    return asked == "auto" || asked == tier.name();
  }

  const std::shared_ptr<PrefixUse> prefixes_;
  const std::vector<std::unique_ptr<CacheTier>> tiers_;
  const std::shared_ptr<Writers> writers_ = std::make_shared<Writers>();
  std::atomic<uint64_t> misses_{0};
};

}  // namespace headrace
