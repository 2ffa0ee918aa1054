#include "client/ordered_sequence.h"

#include <algorithm>

#include "common/status.h"

namespace headrace {
namespace {

void Add(OrderedSequence::Ready::Runs& runs, const RowRange& rows) {
  const uint64_t task = rows.frame->task();
  if (runs.empty() || runs.back().first != task) runs.emplace_back(task, std::vector<Run>());
  AppendRuns(rows, runs.back().second);
}

uint64_t RowsIn(std::span<const RowRange> ranges) {
  uint64_t rows = 0;
  for (const RowRange& range : ranges) rows += range.size();
  return rows;
}

}  // namespace

absl::Status OrderedSequence::Begin(uint64_t epoch, std::span<const uint64_t> lane_windows,
                                    const v1::OrderedPosition* position) {
  if (position != nullptr && position->lanes_size() == 0) position = nullptr;
  if (position != nullptr && static_cast<size_t>(position->lanes_size()) != lane_windows.size()) {
    return InvalidArgument("the place to go on from has {} lanes, the epoch {}",
                           position->lanes_size(), lane_windows.size());
  }
  epoch_ = epoch;
  batch_ = last_batches_ = skip_last_ = resumed_last_ = 0;
  turn_ = 0;
  gathered_ = false;
  last_.clear();
  ready_.clear();
  lanes_.assign(lane_windows.size(), {});
  for (size_t i = 0; i < lanes_.size(); ++i) {
    Lane& lane = lanes_[i];
    lane.windows = lane_windows[i];
    if (position == nullptr) continue;
    const v1::LanePosition& at = position->lanes(static_cast<int>(i));
    lane.window = lane.needed_window = at.window();
    lane.needed_rest = lane.skip_rest = at.rest_rows();
    lane.skip = at.batches();
  }
  if (position != nullptr) {
    batch_ = position->batch();
    turn_ = lanes_.empty() ? 0 : position->turn() % static_cast<uint32_t>(lanes_.size());
    skip_last_ = resumed_last_ = position->last_batches();
  }
  if (!lanes_.empty() && lanes_[turn_].done()) NextTurn();
  return absl::OkStatus();
}

std::optional<uint32_t> OrderedSequence::lane() const {
  if (lanes_.empty() || lanes_[turn_].done()) return std::nullopt;
  return turn_;
}

void OrderedSequence::NextTurn() {
  for (size_t i = 0; i < lanes_.size(); ++i) {
    turn_ = (turn_ + 1) % static_cast<uint32_t>(lanes_.size());
    if (!lanes_[turn_].done()) return;
  }
}

OrderedSequence::Fit OrderedSequence::FitOf(const PiecePlace& place) const {
  if (place.lane >= lanes_.size()) return Fit::kGap;
  const Lane& lane = lanes_[place.lane];
  if (place.window < lane.window) return Fit::kKnown;
  if (place.window == lane.window) {
    if (place.piece == lane.piece) return Fit::kNext;
    return place.piece < lane.piece ? Fit::kKnown : Fit::kGap;
  }
  return Fit::kGap;
}

void OrderedSequence::EndWindow(Lane& lane) {
  if (lane.rest.empty()) {
    lane.needed_window = lane.window + 1;
    lane.needed_rest = lane.since = 0;
  }
  ++lane.window;
  lane.piece = lane.whole = 0;
}

absl::Status OrderedSequence::Take(std::shared_ptr<const FrameView> frame) {
  const PiecePlace place = *frame->place();
  Lane& lane = lanes_[place.lane];
  ++lane.piece;
  if (place.window_end) {
    EndWindow(lane);
    if (place.lane == turn_ && lane.done()) NextTurn();
    return absl::OkStatus();
  }
  if (place.rest) return TakeRest(lane, std::move(frame));
  Ready ready;
  Add(ready.delivered, {frame, 0, RecordsIn(*frame)});
  ready.frame = std::move(frame);
  ++lane.whole;
  Complete(lane, std::move(ready));
  return absl::OkStatus();
}

absl::Status OrderedSequence::TakeRest(Lane& lane, std::shared_ptr<const FrameView> frame) {
  RowRange rows{frame, 0, RecordsIn(*frame)};
  const uint64_t before = std::min(std::exchange(lane.skip_rest, 0), rows.end);
  if (before != 0) {
    Ready ready;
    Add(ready.delivered, {frame, 0, before});
    ready_.push_back(std::move(ready));
    rows.begin = before;
  }
  if (rows.size() == 0) return absl::OkStatus();
  const uint64_t size = plan_.batch_rows();
  if (lane.rest.empty()) {  // what waits begins here
    lane.needed_window = lane.window;
    lane.needed_rest = rows.begin;
    lane.since = lane.whole;
  }
  lane.rest_rows += rows.size();
  lane.rest.push_back(std::move(rows));
  if (lane.rest_rows < size) return absl::OkStatus();
  const std::vector<RowRange> joined = TakeRows(lane.rest, size);
  lane.rest_rows -= size;
  HR_ASSIGN_OR_RETURN(Ready ready, Part(joined, lane.skip != 0));
  Complete(lane, std::move(ready));
  // The rest of the rest waits; a replay of this window does not make the joined batch again.
  lane.needed_window = lane.rest.empty() ? lane.window + 1 : lane.window;
  lane.needed_rest = lane.rest.empty() ? 0 : lane.rest.front().begin;
  lane.since = lane.rest.empty() ? 0 : lane.whole;
  return absl::OkStatus();
}

void OrderedSequence::Complete(Lane& lane, Ready ready) {
  ++lane.since;
  if (lane.skip != 0) {
    --lane.skip;
    ready.frame = nullptr;
    ready_.push_back(std::move(ready));
    return;
  }
  ready_.push_back(std::move(ready));
  NextTurn();
}

std::vector<RowRange> OrderedSequence::TakeRows(std::deque<RowRange>& from, uint64_t count) {
  std::vector<RowRange> out;
  while (count != 0 && !from.empty()) {
    RowRange& front = from.front();
    const uint64_t n = std::min(count, front.size());
    out.push_back({front.frame, front.begin, front.begin + n});
    front.begin += n;
    count -= n;
    if (front.size() == 0) from.pop_front();
  }
  return out;
}

absl::StatusOr<OrderedSequence::Ready> OrderedSequence::Part(std::span<const RowRange> rows,
                                                             bool report_only) const {
  const uint64_t size = RowsIn(rows);
  const uint64_t begin = size * rank_ / ranks_;
  const uint64_t end = size * (rank_ + 1) / ranks_;
  Ready ready;
  uint64_t at = 0;
  for (const RowRange& range : rows) {
    const uint64_t from = std::max(begin, at);
    const uint64_t to = std::min(end, at + range.size());
    if (from < to) {
      Add(ready.delivered, {range.frame, range.begin + from - at, range.begin + to - at});
    }
    at += range.size();
  }
  if (report_only) return ready;
  const JoinRule rule{plan_.padded(), plan_.pad_value()};
  HR_ASSIGN_OR_RETURN(ready.frame, JoinRows(rows, begin, end, rule));
  return ready;
}

absl::StatusOr<std::optional<OrderedSequence::Ready>> OrderedSequence::PopLast() {
  if (!gathered_) {
    gathered_ = true;
    for (const Lane& lane : lanes_) last_.insert(last_.end(), lane.rest.begin(), lane.rest.end());
  }
  if (last_.empty()) return std::nullopt;
  const std::vector<RowRange> rows = TakeRows(last_, plan_.batch_rows());
  const uint64_t size = RowsIn(rows);
  const bool whole = size == plan_.batch_rows();
  if (!whole && (plan_.drop_remainder() || size < ranks_)) {
    Ready ready;
    for (const RowRange& range : rows) Add(ready.dropped, range);
    return ready;
  }
  ++last_batches_;
  const bool had = skip_last_ != 0;
  HR_ASSIGN_OR_RETURN(Ready ready, Part(rows, had));
  if (had) {
    --skip_last_;
  } else {
    ++batch_;
  }
  return ready;
}

absl::StatusOr<std::optional<OrderedSequence::Ready>> OrderedSequence::Pop() {
  if (ready_.empty()) {
    if (lane()) return std::nullopt;
    return PopLast();
  }
  Ready ready = std::move(ready_.front());
  ready_.pop_front();
  if (ready.frame != nullptr) ++batch_;
  return ready;
}

std::vector<uint64_t> OrderedSequence::windows() const {
  std::vector<uint64_t> windows;
  for (const Lane& lane : lanes_) windows.push_back(lane.window);
  return windows;
}

v1::OrderedPosition OrderedSequence::position() const {
  v1::OrderedPosition position;
  position.set_epoch(epoch_);
  position.set_batch(batch_);
  position.set_turn(turn_);
  position.set_last_batches(std::max(last_batches_, resumed_last_));
  for (const Lane& lane : lanes_) {
    v1::LanePosition& at = *position.add_lanes();
    at.set_window(lane.needed_window);
    at.set_rest_rows(lane.needed_rest);
    at.set_batches(lane.since + lane.skip);
  }
  return position;
}

}  // namespace headrace
