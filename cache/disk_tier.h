// The disk tier: a segment file per split, below a directory of its own (docs/design/032-caches.md,
// cache/segment_format.h). Holds its byte budget always: bytes are claimed before they are written,
// and given back after they are freed.
//
// Several workers may be given one path: each takes a free folder `worker-N` of it, and finds there
// after a restart what was kept. Owned by the worker; outlives its fills. Thread-safe. Writes
// happen on a thread of the tier's own, reads on the caller's.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "cache/segment_shelf.h"
#include "cache/tier.h"
#include "common/clock.h"
#include "common/sync/executor.h"

namespace headrace {

class DiskTier final : public CacheTier {
 public:
  struct Options {
    std::string path;
    uint64_t bytes = 0;
    size_t chunk_bytes = 2 << 20;        // written and read at once
    uint64_t pending_bytes = 128 << 20;  // handed to the writer and not yet written, at most
    bool direct = true;                  // past the page cache, where the file system lets us
  };
  // Takes a folder and recovers what is in it. INVALID_ARGUMENT names cache.disk.path when it
  // cannot be made or written.
  static absl::StatusOr<std::unique_ptr<DiskTier>> Open(Options options,
                                                        std::shared_ptr<const PrefixUse> prefixes,
                                                        const Clock& clock);
  std::string_view name() const override { return "disk"; }
  std::unique_ptr<CachedSplit> Find(const CacheKey& key) override;
  bool Holds(const CacheKey& key) const override { return shelf_->Holds(key); }
  absl::StatusOr<std::unique_ptr<CacheFill>> Begin(const CacheKey& key,
                                                   std::shared_ptr<void> lease) override;
  TierUse use() const override { return shelf_->use(); }
  const TierCounters& counters() const override { return shelf_->counters(); }

  const std::string& directory() const { return shelf_->directory(); }
  // Waits until what was handed over is written; false at the deadline.
  bool Flush(absl::Time deadline) { return writer_.WaitIdle(deadline); }

 private:
  friend class DiskFill;
  // A folder that is this process's until the lock goes.
  struct FolderLock;
  DiskTier(Options options, std::shared_ptr<FolderLock> lock, std::shared_ptr<SegmentShelf> shelf);
  static absl::StatusOr<std::shared_ptr<FolderLock>> LockFolder(const std::string& path);

  const Options options_;
  const std::shared_ptr<FolderLock> lock_;  // goes after the writer
  const std::shared_ptr<SegmentShelf> shelf_;
  Executor writer_;
};

}  // namespace headrace
