// Shares a task's finished blocks out over the client streams that have credit, in turn.
//
// A block is taken from the task only when a stream can take it, so back-pressure reaches the
// engine, and a block is never lost between the two.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "worker/frame_router.h"

namespace headrace {

class OutputRouter final : public FrameRouter {
 public:
  OutputRouter(uint64_t task, uint64_t epoch, bool batched)
      : task_(task), epoch_(epoch), batched_(batched) {}

  void Add(std::shared_ptr<FrameStream> stream) override;
  void Remove(const FrameStream* stream) override;
  void FinishAll() override;
  absl::Status Pump(OutputQueue& output) override;

 private:
  struct Line {
    std::shared_ptr<FrameStream> stream;
    uint64_t sent = 0;  // frames; the next one's sequence
  };
  // Position of the next ready stream at or after `next_`, or lines_.size().
  size_t NextReady() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const uint64_t task_;
  const uint64_t epoch_;
  const bool batched_;
  absl::Mutex mutex_;
  std::vector<Line> lines_ ABSL_GUARDED_BY(mutex_);
  std::optional<Block> held_ ABSL_GUARDED_BY(mutex_);  // its stream closed before it took it
  size_t next_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace headrace
