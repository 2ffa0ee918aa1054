// `ordering: deterministic` in histories: what a worker makes of a lane, and what a client holds.
// The sequence itself is the real one (client/ordered_sequence.h), over real frames.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "client/frame_merger.h"
#include "client/lane_frames.h"
#include "client/ordered_sequence.h"
#include "element/frame_reader.h"
#include "element/provenance.h"
#include "tests/sim/history.h"

namespace headrace::sim {

// A lane's pieces, as worker/ordered_router.h has them: each is kept until every rank has it.
class LaneModel {
 public:
  LaneModel() = default;
  LaneModel(const History& history, const v1::TaskDef& def);

  // Elements of window `window` that came out of the steps.
  void Add(uint64_t window, const RecordId& element);
  // Nothing more comes of it.
  void EndWindow(uint64_t window);
  size_t kept() const { return pieces_.size(); }
  uint64_t first() const { return first_; }
  // The rank had something of it, by whatever stream.
  bool Served(uint32_t rank) const { return taken_[rank] != 0; }

  // The frame of piece `next` for a rank; null where there is none yet.
  std::shared_ptr<const FrameView> FrameFor(uint64_t next, uint32_t rank) const;
  // The rank has all before `next`.
  void Taken(uint32_t rank, uint64_t next);

 private:
  struct Piece {
    PiecePlace place;
    std::vector<RecordId> rows;
  };
  void Cut(uint64_t window, bool all);

  uint64_t task_ = 0;
  v1::OrderedTask lane_;
  uint64_t order_ = 0;  // 0: as they come; else the key of the window's shuffle
  std::vector<RecordId> rows_;
  uint64_t piece_ = 0;
  std::deque<Piece> pieces_;
  uint64_t first_ = 0;
  std::vector<uint64_t> taken_;
};

// What a rank holds, and the sequence that it makes: the Loader's parts, put together as it does.
class OrderedHand {
 public:
  OrderedHand(const v1::OrderedPlan& plan, uint32_t rank, uint32_t ranks)
      : sequence_(plan, rank, ranks), frames_(held_, sequence_) {}

  // False: the position does not fit.
  bool Begin(uint64_t epoch, const v1::StartEpochReply& reply, const v1::OrderedPosition* at);
  void Listed(uint64_t task, uint32_t lane);
  // Made again by another task: not to be held.
  bool Known(const FrameView& frame) const { return frames_.Known(frame); }
  void Hold(uint64_t task, std::shared_ptr<const FrameView> frame) {
    held_.Push(task, std::move(frame));
  }
  void DropAll() { held_.Clear(); }
  uint64_t held_bytes() const { return held_.held_bytes(); }

  struct Batch {
    bool handed = false;  // else only to be reported
    uint64_t number = 0;
    OrderedSequence::Ready::Runs delivered;
    OrderedSequence::Ready::Runs dropped;
  };
  // What comes next; nothing when a frame is missing for it, or at the end. Tasks whose frames have
  // a gap are added to `broken`, those that a frame was used up of to `used`.
  std::optional<Batch> Next(std::set<uint64_t>& broken, std::vector<uint64_t>& used);

  std::vector<uint64_t> windows() const { return sequence_.windows(); }
  v1::OrderedPosition position() const { return sequence_.position(); }
  // "" while the sequence makes sense of what it is given.
  const std::string& failure() const { return failure_; }

 private:
  FrameMerger held_{uint64_t{1} << 30};  // streams have credit by frames here
  OrderedSequence sequence_;
  LaneFrames frames_;
  std::string failure_;
};

}  // namespace headrace::sim
