// A cache tier: somewhere that keeps the rows of splits as they pass a pipeline's `cache` step, so
// that they need not be made again. Memory and disk are its forms; TieredCache puts them in a row.
//
// The worker owns the tiers. All methods are thread-safe. Losing an entry costs speed, never data:
// whatever goes wrong inside of a tier is counted, and answered as a miss.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cache/cache_counters.h"
#include "element/frame.h"

namespace headrace {

// Whose rows. All three are 32 hex digits, hashes of what they stand for.
struct CacheKey {
  std::string prefix;   // the format and all steps up to the cache
  std::string place;    // which records: file and range
  std::string version;  // of that file: size and modification time
  // "prefix-place": at most one version of a place is kept.
  std::string slot() const { return prefix + "-" + place; }

  bool operator==(const CacheKey&) const = default;
};

// Rows on their way into a tier, which copies them: a frame (element/frame.h) in pieces, and the
// records of the split that it covers. Those of them that have no row in it were filtered.
struct NewFrame {
  uint64_t first = 0;  // records [first, first + count)
  uint64_t count = 0;
  size_t bytes = 0;  // of all pieces; 0: none of the records has a row
  std::span<const FrameSlice> pieces;
};

// Rows as a tier gives them back.
struct StoredFrame {
  uint64_t first = 0;
  uint64_t count = 0;
  FrameBuffer frame;  // size 0: no rows
};

// A split that is being kept. One thread at a time. Destroyed without Commit: nothing of it stays.
class CacheFill {
 public:
  virtual ~CacheFill() = default;
  // Frames come in the order of their records, without a gap. Never waits for a device. After an
  // error the fill is over: RESOURCE_EXHAUSTED (the budget, the disk, or a device that does not
  // keep up).
  virtual absl::Status Append(const NewFrame& frame) = 0;
  // All records are in. The entry can be found from some moment on; from none, if the device fails.
  virtual void Commit() = 0;
  // Gives up, and gives back what was appended, for another tier; nothing where it is not at hand.
  virtual std::vector<StoredFrame> TakeBack() { return {}; }
};

// A split that was kept, being read. One thread at a time. What it reads stays until it goes, even
// if the entry is evicted meanwhile.
class CachedSplit {
 public:
  virtual ~CachedSplit() = default;
  // The next frame in the order of the records; nothing at the end. DATA_LOSS: it is damaged (the
  // tier has dropped and counted the entry); frames given before it are right.
  virtual absl::StatusOr<std::optional<StoredFrame>> Next() = 0;
  // Of the split.
  virtual uint64_t records() const = 0;
  // The tier has the whole entry; a frame could not be used all the same.
  virtual void Condemn(CacheDrop reason) = 0;
};

class CacheTier {
 public:
  virtual ~CacheTier() = default;
  virtual std::string_view name() const = 0;  // "memory", "disk"
  // Null when it is not there in this version; another version of it is then dropped.
  virtual std::unique_ptr<CachedSplit> Find(const CacheKey& key) = 0;
  virtual bool Holds(const CacheKey& key) const = 0;
  // RESOURCE_EXHAUSTED: there is no room now. `lease` is let go when the entry can be found, or
  // never will be.
  virtual absl::StatusOr<std::unique_ptr<CacheFill>> Begin(const CacheKey& key,
                                                           std::shared_ptr<void> lease) = 0;
  virtual TierUse use() const = 0;
  virtual const TierCounters& counters() const = 0;
};

}  // namespace headrace
