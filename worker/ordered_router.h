// The frames of an ordered lane (docs/design/022): every rank gets its part of each whole batch, in
// order, and all of the rows left over at a window's end. A block is kept until every rank has
// taken it, so the slowest rank sets the pace; what is kept is bounded by bytes.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "element/frame.h"
#include "headrace/v1/ordered.pb.h"
#include "worker/frame_router.h"

namespace headrace {

class OrderedRouter final : public FrameRouter {
 public:
  OrderedRouter(uint64_t task, uint64_t epoch, const v1::OrderedTask& lane);

  // Leases of `window` go to the engine next. Windows end in the order of these calls.
  void BeginWindow(uint64_t window);

  // One stream a rank: a second one, once the first was sent something, ends with UNAVAILABLE,
  // which its reader reports as a broken stream.
  void Add(std::shared_ptr<FrameStream> stream) override;
  void Remove(const FrameStream* stream) override;
  void FinishAll() override;
  absl::Status Pump(OutputQueue& output) override;

 private:
  static constexpr uint64_t kKeptBytes = 4 << 20;  // at least one block, whatever its size

  struct Piece {
    Block block;
    PiecePlace place;
    uint64_t bytes = 0;
  };
  struct Line {
    std::shared_ptr<FrameStream> stream;
    uint32_t rank = 0;
    uint64_t next = 0;  // piece
    uint64_t sent = 0;  // frames; the next one's sequence
  };
  // Takes the next block over. False: there is none, or enough is kept.
  bool Take(OutputQueue& output) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Send(Line& line) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<Frame> MakeFrame(const Piece& piece, const Line& line) const;
  void DropTaken() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const uint64_t task_;
  const uint64_t epoch_;
  const v1::OrderedTask lane_;
  absl::Mutex mutex_;
  std::vector<Line> lines_ ABSL_GUARDED_BY(mutex_);
  std::deque<Piece> pieces_ ABSL_GUARDED_BY(mutex_);
  uint64_t first_ ABSL_GUARDED_BY(mutex_) = 0;            // number of pieces_.front()
  uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;            // of pieces_
  std::vector<uint64_t> taken_ ABSL_GUARDED_BY(mutex_);   // per rank: pieces before are sent
  std::deque<uint64_t> windows_ ABSL_GUARDED_BY(mutex_);  // begun and not ended
  uint64_t piece_ ABSL_GUARDED_BY(mutex_) = 0;            // of the window
};

// Rows [begin, end) of the batch in row 0 of `block`, its only one: what is numeric is borrowed
// from the block, which must outlive it. INTERNAL when a field does not have a row per record.
absl::StatusOr<Block> CutBatch(const Block& block, uint64_t begin, uint64_t end);
// Records of the batch in row 0.
uint64_t RecordsOf(const Block& block);

}  // namespace headrace
