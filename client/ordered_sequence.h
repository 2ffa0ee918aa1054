// The reader's half of `ordering: deterministic` (docs/design/022): from the lanes' frames to the
// sequence of batches, this rank's part of each. Thread-free: the Loader calls it under its mutex.
//
// One batch comes from each lane in turn. Rows that are left over at a window's end wait, and make
// a batch with those of the lane's later windows once there are enough; what is left when all
// lanes are at their ends makes the last batches. Which frames came from which task, how often, and
// when, changes nothing: frames are known by their places.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "client/batch_join.h"
#include "element/frame_reader.h"
#include "headrace/v1/ordered.pb.h"

namespace headrace {

class OrderedSequence {
 public:
  OrderedSequence(const v1::OrderedPlan& plan, uint32_t rank, uint32_t ranks)
      : plan_(plan), rank_(rank), ranks_(ranks) {}

  // A new epoch whose lanes have so many windows; at its start, or where `position` stands.
  // INVALID_ARGUMENT when the position is of other lanes.
  absl::Status Begin(uint64_t epoch, std::span<const uint64_t> lane_windows,
                     const v1::OrderedPosition* position);

  // The lane whose next frame is needed; nothing once all lanes are at their ends.
  std::optional<uint32_t> lane() const;
  enum class Fit { kNext, kKnown, kGap };
  Fit FitOf(const PiecePlace& place) const;
  // The next frame of its lane (FitOf says kNext). An error is a batch that cannot be joined.
  absl::Status Take(std::shared_ptr<const FrameView> frame);

  // What came of the frames taken so far, in order.
  struct Ready {
    using Runs = std::vector<std::pair<uint64_t, std::vector<Run>>>;  // by task
    std::shared_ptr<const FrameView> frame;  // to hand over; null: nothing, only to report
    Runs delivered;
    Runs dropped;  // left out for good
  };
  absl::StatusOr<std::optional<Ready>> Pop();

  // Per lane: the first window of which a frame is still to come. What lies before need not be made
  // again, whoever's task is lost.
  std::vector<uint64_t> windows() const;

  // After what Pop gave.
  v1::OrderedPosition position() const;

 private:
  struct Lane {
    uint64_t windows = 0;
    // The next frame's place.
    uint64_t window = 0;
    uint64_t piece = 0;
    uint64_t whole = 0;  // batches of the window so far, joined ones left out
    std::deque<RowRange> rest;
    uint64_t rest_rows = 0;
    // Where to begin to come to this place again: LanePosition.
    uint64_t needed_window = 0;
    uint64_t needed_rest = 0;
    uint64_t since = 0;
    // Of a position that was taken over: batches, and rows of the first rest, handed over before.
    uint64_t skip = 0;
    uint64_t skip_rest = 0;

    bool done() const { return window >= windows; }
  };
  void EndWindow(Lane& lane);
  absl::Status TakeRest(Lane& lane, std::shared_ptr<const FrameView> frame);
  // A batch of `lane` is complete: it is handed over, or was before.
  void Complete(Lane& lane, Ready ready);
  void NextTurn();
  // This rank's part of a batch that is made of `rows`. Without a frame when `report_only`.
  absl::StatusOr<Ready> Part(std::span<const RowRange> rows, bool report_only) const;
  absl::StatusOr<std::optional<Ready>> PopLast();
  static std::vector<RowRange> TakeRows(std::deque<RowRange>& from, uint64_t count);

  const v1::OrderedPlan plan_;
  const uint32_t rank_;
  const uint32_t ranks_;
  uint64_t epoch_ = 0;
  uint64_t batch_ = 0;
  uint32_t turn_ = 0;
  uint64_t last_batches_ = 0;
  uint64_t skip_last_ = 0;
  uint64_t resumed_last_ = 0;  // last_batches_ of the position that was taken over
  bool gathered_ = false;      // the lanes' ends are in last_
  std::vector<Lane> lanes_;
  std::deque<RowRange> last_;
  std::deque<Ready> ready_;
};

}  // namespace headrace
