// The files of a disk tier: which there are, what they claim of the budget, and how one of them
// goes. Shared by the tier, its writers and its readers; thread-safe. No lock is held across I/O.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "cache/entry_table.h"
#include "cache/tier.h"
#include "common/clock.h"
#include "common/sync/memory_budget.h"

namespace headrace {

// One committed segment. Its bytes count until the last one who has it lets go: a file that is
// still read keeps its blocks after its name is gone.
struct KeptSegment {
  KeptSegment(CacheKey k, std::string p, uint64_t b, uint64_t r, std::shared_ptr<MemoryBudget> m,
              std::vector<Reservation> c)
      : key(std::move(k)),
        path(std::move(p)),
        bytes(b),
        records(r),
        budget(std::move(m)),
        claims(std::move(c)) {}
  ~KeptSegment();  // removes the file if it is doomed, then gives its bytes back
  KeptSegment(const KeptSegment&) = delete;
  KeptSegment& operator=(const KeptSegment&) = delete;

  const CacheKey key;
  const std::string path;
  const uint64_t bytes;
  const uint64_t records;
  const std::shared_ptr<MemoryBudget> budget;  // outlives the claims
  const std::vector<Reservation> claims;
  std::atomic<bool> doomed{false};
};

class SegmentShelf {
 public:
  // After a write found the file system full, none is begun for so long.
  static constexpr absl::Duration kFullPause = absl::Seconds(5);

  SegmentShelf(std::string directory, uint64_t bytes, bool direct,
               std::shared_ptr<const PrefixUse> prefixes, const Clock& clock);

  // Takes in what is in the directory, the newest first as far as the budget goes; drops, and
  // counts, what is of no use. Before anything else.
  absl::Status Recover();

  // `bytes` more for `claims`, evicting for them. False: there is no room.
  bool Claim(uint64_t bytes, std::vector<Reservation>& claims);
  // Null when there is none in this version; another version is dropped.
  std::shared_ptr<KeptSegment> Find(const CacheKey& key);
  bool Holds(const CacheKey& key) const;
  void Add(std::shared_ptr<KeptSegment> segment);
  // Out of the table, if it is still there; its file goes when its last reader lets go.
  void Drop(const KeptSegment& segment, CacheDrop reason);

  // Whether a split of middling size has a chance now.
  absl::Status MayBegin() const;
  void NoteFull();
  uint64_t NextSerial() { return serial_.fetch_add(1) + 1; }

  TierUse use() const;
  const std::string& directory() const { return directory_; }
  bool direct() const { return direct_; }
  const Clock& clock() const { return clock_; }
  const std::shared_ptr<MemoryBudget>& budget() const { return budget_; }
  TierCounters& counters() { return counters_; }
  std::atomic<uint64_t>& pending_bytes() { return pending_bytes_; }

 private:
  struct Found;
  absl::Status RecoverOne(const Found& found);

  const std::string directory_;
  const bool direct_;
  const std::shared_ptr<const PrefixUse> prefixes_;
  const Clock& clock_;
  const std::shared_ptr<MemoryBudget> budget_;
  TierCounters counters_;
  std::atomic<uint64_t> serial_{0};
  std::atomic<uint64_t> pending_bytes_{0};  // handed to the writer, not yet written
  mutable absl::Mutex mutex_;
  EntryTable<KeptSegment> segments_ ABSL_GUARDED_BY(mutex_);
  uint64_t segment_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Duration full_until_ ABSL_GUARDED_BY(mutex_) = absl::ZeroDuration();
};

}  // namespace headrace
