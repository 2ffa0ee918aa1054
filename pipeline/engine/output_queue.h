// Finished blocks of a task, waiting for the worker's streams. Bounded by bytes: while it is full,
// the task computes nothing more. The task owns it and fills it; the worker takes from it.
// Thread-safe.
//
// Rows that belong together in one block wait here too: with no whole block ready, TryPop hands out
// what there is, so a lone element is never held back and a busy consumer gets big blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "element/block.h"

namespace headrace {

class OutputQueue {
 public:
  struct Limits {
    uint64_t max_bytes = 64 << 20;  // a block is taken in while less than this is held
    size_t rows_per_block = 1024;   // of an unbatched stream; a batch is always a block of its own
    uint64_t bytes_per_block = 1 << 20;
  };
  // `on_ready` runs when something is there to pop where nothing was; `on_room` when a queue that
  // may have been full is no more than half full. Both run without the queue's lock on the thread
  // that caused them, must be quick and must not destroy the queue.
  OutputQueue(Limits limits, bool batched, std::function<void()> on_ready,
              std::function<void()> on_room);

  // The next block, in the stream's order; nothing when there is none. Never waits.
  std::optional<Block> TryPop();

  bool empty() const;
  bool has_room() const;
  uint64_t bytes() const;
  uint64_t peak_bytes() const;  // the most it ever held
  uint64_t max_bytes() const { return limits_.max_bytes; }

  // The task's side: rows that all are live; runs and failures already taken out.
  void Push(Block block);
  // A block without rows: everything of a window is in front of it.
  void PushMark(SchemaPtr schema);
  // Drops everything.
  void Clear();

 private:
  void AddLocked(Block block) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Limits limits_;
  const bool batched_;
  const std::function<void()> on_ready_;
  const std::function<void()> on_room_;
  mutable absl::Mutex mutex_;
  std::deque<Block> blocks_
      ABSL_GUARDED_BY(mutex_);  // the last one of an unbatched stream may still grow
  uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t peak_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace headrace
