// What the engine needs of a cache: the rows of whole splits as they pass the pipeline's `cache`
// step, kept and given back. One object per task; the worker makes it, over the caches that it has.
//
// Caches change the cost of a task, never what it delivers: rows come back with the numbers of
// their records, in their order, and records without a row are settled, as when they were made.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "element/block.h"
#include "headrace/v1/pipeline.pb.h"

namespace headrace {

// Kept rows of one split, being read. One thread at a time; may block.
class CachedRows {
 public:
  virtual ~CachedRows() = default;
  // The next rows, with the schema of the `cache` step, and settled() runs for records that have
  // none; gapless from record 0 on. Nothing: the end of the split. Any error: what was given so far
  // is right, the rest must be made anew.
  virtual absl::StatusOr<std::optional<Block>> Next() = 0;
};

// Rows of one split, to be kept. Only a split whose records all went through without a failure is:
// a failed record must fail again in the next epoch, where the job's budget of errors counts it,
// and what made it fail may pass. Thread-safe; never waits for a device.
class PrefixFill {
 public:
  virtual ~PrefixFill() = default;
  // What is left of records [first, first + count) where they pass the cache. In any order, each
  // record once.
  virtual void Deposit(uint64_t first, uint64_t count, const Block& block) = 0;
  // The split has so many records. On an I/O thread; may look at the file once more.
  virtual void ReadToEnd(uint64_t records) = 0;
  // The fill is of no use any more.
  virtual void Break() = 0;
};

class PrefixCache {
 public:
  virtual ~PrefixCache() = default;
  // Null: a miss. On an I/O thread; may block.
  virtual std::unique_ptr<CachedRows> Open(const v1::Split& split, uint32_t pass) = 0;
  // Null: this split is not to be kept now. On an I/O thread.
  virtual std::shared_ptr<PrefixFill> Fill(const v1::Split& split, uint32_t pass) = 0;
};

// A block's part in a fill, which travels with it. Lost on the way (the task ended, a record
// failed): the fill is broken.
class FillPiece {
 public:
  FillPiece(std::shared_ptr<PrefixFill> fill, uint64_t first, uint64_t count)
      : fill_(std::move(fill)), first_(first), count_(count) {}
  ~FillPiece() {
    if (fill_ != nullptr) fill_->Break();
  }
  FillPiece(const FillPiece&) = delete;
  FillPiece& operator=(const FillPiece&) = delete;

  // Once.
  void Deposit(const Block& block) {
    std::exchange(fill_, nullptr)->Deposit(first_, count_, block);
  }

 private:
  std::shared_ptr<PrefixFill> fill_;
  const uint64_t first_;
  const uint64_t count_;
};

// How a block stands to the task's cache.
struct CachePassage {
  // Set: its rows are to be kept when they reach the cache.
  std::shared_ptr<FillPiece> fill = nullptr;
  // It came from the cache: the steps in front of that are behind it.
  bool cached = false;

  // `block` has reached the cache, or has no rows left.
  void Deposit(const Block& block) {
    if (fill != nullptr) std::exchange(fill, nullptr)->Deposit(block);
  }
};

}  // namespace headrace
