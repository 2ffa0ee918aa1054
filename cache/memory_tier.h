// The memory tier: frames as they are sent, each in memory of its own, under a byte budget. A frame
// that is still being worked on when its entry goes counts until its last reader lets go.
//
// Owned by the worker; thread-safe.
#pragma once

#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "cache/entry_table.h"
#include "cache/tier.h"
#include "common/sync/memory_budget.h"

namespace headrace {

class MemoryTier final : public CacheTier {
 public:
  // `bytes` > 0.
  MemoryTier(uint64_t bytes, std::shared_ptr<const PrefixUse> prefixes);

  std::string_view name() const override { return "memory"; }
  std::unique_ptr<CachedSplit> Find(const CacheKey& key) override;
  bool Holds(const CacheKey& key) const override;
  absl::StatusOr<std::unique_ptr<CacheFill>> Begin(const CacheKey& key,
                                                   std::shared_ptr<void> lease) override;
  TierUse use() const override;
  const TierCounters& counters() const override { return shelf_->counters; }

 private:
  friend class MemoryFill;
  friend class MemorySplit;
  struct Entry {
    const CacheKey key;
    const std::vector<StoredFrame> frames;
    const uint64_t records = 0;
    const uint64_t bytes = 0;
  };
  // What fills and readers share with the tier.
  struct Shelf {
    Shelf(uint64_t bytes, std::shared_ptr<const PrefixUse> p);
    // `bytes` of memory under the budget; evicts for them. Null: there is no room.
    std::shared_ptr<std::byte> Allocate(size_t bytes);
    void Drop(const CacheKey& key, const Entry* only, CacheDrop reason);

    const std::shared_ptr<MemoryBudget> budget;
    const std::shared_ptr<const PrefixUse> prefixes;
    TierCounters counters;
    mutable absl::Mutex mutex;
    EntryTable<Entry> entries ABSL_GUARDED_BY(mutex);
    uint64_t entry_bytes ABSL_GUARDED_BY(mutex) = 0;  // of all in the table
  };

  const std::shared_ptr<Shelf> shelf_;
};

}  // namespace headrace
