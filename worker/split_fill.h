// A split on its way into a cache: blocks come from several threads in any order, and leave in the
// order of their records. Shared by the split's reader and its blocks; thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "cache/block_codec.h"
#include "cache/tier.h"
#include "pipeline/engine/prefix_cache.h"

namespace headrace {

class SplitFill final : public PrefixFill {
 public:
  // `unchanged`: the split's files are still what they were; asked once, when they have been read.
  // It runs while the task's cache lives.
  SplitFill(std::unique_ptr<CacheFill> fill, std::function<bool()> unchanged)
      : unchanged_(std::move(unchanged)), fill_(std::move(fill)) {}

  void Deposit(uint64_t first, uint64_t count, const Block& block) override;
  void ReadToEnd(uint64_t records) override;
  void Break() override;

 private:
  // Hands on what is next in line; commits behind the last record.
  void AdvanceLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status AppendLocked(const CoveredFrame& frame) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::function<bool()> unchanged_;
  absl::Mutex mutex_;
  std::unique_ptr<CacheFill> fill_ ABSL_GUARDED_BY(mutex_);  // null: over
  std::map<uint64_t, std::vector<CoveredFrame>> waiting_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_ ABSL_GUARDED_BY(mutex_) = 0;  // record
  std::optional<uint64_t> records_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headrace
