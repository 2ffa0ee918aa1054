// Which splits of which datasets the worker's caches have. Caches know files and ranges; leases are
// spoken of by the splits' numbers. What they are called is learned as tasks look for their rows
// and keep them, and is looked up in the caches when it is told, so nothing here need be told of
// evictions. A worker that was started anew learns the names of what its disk has in an epoch.
//
// The Worker owns it; outlives tasks and reads. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "absl/synchronization/mutex.h"
#include "cache/tiered_cache.h"

namespace headrace {

class HeldSplits {
 public:
  // Of so many groups the ones noted of lately; the splits of one are bounded by its dataset's.
  static constexpr size_t kGroups = 32;

  explicit HeldSplits(const TieredCache& cache) : cache_(cache) {}

  // Split `split` of the group is, or will be, kept under `key`, whose prefix is the group's.
  void Note(const std::string& group, uint32_t split, const CacheKey& key);
  // The splits of the group that are kept in `tier`: ascending, each as its distance from the one
  // before (the first from 0).
  std::vector<uint32_t> Tell(const std::string& group, const std::string& prefix,
                             std::string_view tier);

 private:
  struct Place {
    std::string place;
    std::string version;
  };
  struct Group {
    std::string name;
    absl::btree_map<uint32_t, Place> splits;
  };
  // In front of all others.
  Group& Touch(const std::string& name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const TieredCache& cache_;
  absl::Mutex mutex_;
  std::list<Group> groups_ ABSL_GUARDED_BY(mutex_);  // the one noted of last in front
};

}  // namespace headrace
