// Which leases a task gives up to others that have nothing to do (the rest of SourceStage is in
// source_stage.cc).
#include <algorithm>
#include <cmath>
#include <utility>

#include "pipeline/engine/source_stage.h"

namespace headrace {
namespace {

// Pace is measured over the last one or two of these.
constexpr absl::Duration kPaceWindow = absl::Seconds(1);
// What takes less is done before others have begun with it.
constexpr absl::Duration kLeastShed = absl::Milliseconds(100);

}  // namespace

void SourceStage::NotePopLocked(uint64_t records) {
  popped_ += records;
  const absl::Duration now = deps_.clock->Steady();
  if (now - pops_.back().first < kPaceWindow) return;
  pops_.emplace_back(now, popped_);
  if (pops_.size() > 2) pops_.pop_front();
}

double SourceStage::RecordsLocked(const Lane& lane) const {
  const v1::Split& split = lane.lease.split();
  double records = 1;
  if (lane.done) {
    records = static_cast<double>(lane.items.back().until);
  } else if (split.has_more_files()) {
    records = 1 + split.more_files().keep_size();
  } else if (whole_size_ != 0) {
    records = static_cast<double>(split.end() - split.begin()) *
              static_cast<double>(whole_records_) / static_cast<double>(whole_size_);
  } else if (read_size_ != 0) {
    records = static_cast<double>(split.end() - split.begin()) *
              static_cast<double>(read_records_) / static_cast<double>(read_size_);
  }
  records = std::max(records, static_cast<double>(std::max(lane.claimed, lane.popped + 1)));
  return lane.done ? static_cast<double>(lane.items.back().until)
                   : std::min(records, static_cast<double>(lane.end));
}

// Nothing from `at` on is the lane's any more, and all before it has been read.
void SourceStage::EndLaneLocked(Lane& lane, uint64_t at) {
  uint64_t until = lane.popped;
  size_t keep = 0;
  while (keep < lane.items.size() && lane.items[keep].until <= at) until = lane.items[keep++].until;
  while (lane.items.size() > keep) {
    if (lane.items.back().block) bytes_ -= lane.items.back().block->bytes();
    lane.items.pop_back();
  }
  lane.end = at;
  lane.done = true;
  if (lane.items.empty()) {
    Item& last = lane.items.emplace_back();
    last.lease = lane.lease.number();
    last.until = at;
  }
  lane.items.back().end = at;
  lane.items.back().until = std::max(until, at);
}

double SourceStage::ShedLaneLocked(Lane& lane, double give, double piece, std::vector<Cut>& cuts) {
  const double records = RecordsLocked(lane);
  const double left = records - static_cast<double>(lane.popped);
  uint64_t at = lane.popped;
  if (lane.begun || left > give) {
    at += static_cast<uint64_t>(std::max(0.0, std::ceil(left - give)));
    if (at < lane.claimed || lane.done) {
      // Within what was read it is cut where blocks begin.
      uint64_t border = lane.popped;
      for (const Item& item : lane.items) {
        if (border >= at) break;
        border = item.until;
      }
      if (border < at && !lane.done) border = lane.claimed;
      at = border;
    }
  }
  if (static_cast<double>(at) >= records || at >= lane.end) return 0;
  Cut cut{lane.lease.number(), {at}};
  const double given = records - static_cast<double>(at);
  const double pieces = std::max(1.0, std::round(given / piece));
  for (double i = 1; i < pieces; ++i) {
    const uint64_t next = at + static_cast<uint64_t>(given * i / pieces);
    if (next > cut.at.back() && next < lane.end) cut.at.push_back(next);
  }
  cuts.push_back(std::move(cut));
  if (!lane.begun && at == lane.popped) {
    lane.dropped = true;
    for (const Item& item : lane.items) {
      if (item.block) bytes_ -= item.block->bytes();
    }
  } else if (at <= lane.kept) {
    EndLaneLocked(lane, at);
  } else {
    lane.end = at;
  }
  return given;
}

std::vector<SourceStage::Cut> SourceStage::Shed(size_t idle) {
  std::deque<std::shared_ptr<Lane>> dropped;  // goes after the lock
  std::vector<Cut> cuts;
  absl::MutexLock lock(&mutex_);
  if (stopped_ || idle == 0 || pops_.empty()) return cuts;
  double left = 0;
  std::shared_ptr<Lane> next;
  for (const std::shared_ptr<Lane>& lane : lanes_) {
    if (lane->lease.number() == 0) continue;  // a flush mark
    if (next == nullptr) next = lane;
    left += RecordsLocked(*lane) - static_cast<double>(lane->popped);
  }
  const double seconds = absl::ToDoubleSeconds(deps_.clock->Steady() - pops_.front().first);
  const double pace = static_cast<double>(popped_ - pops_.front().second) / std::max(seconds, 1e-6);
  if (left < pace * absl::ToDoubleSeconds(kLeastShed)) return cuts;
  const double others = static_cast<double>(idle);
  // Less than all, whatever is left: else the last record would go from hand to hand.
  double give = std::floor(left * others / (others + 1));
  const double piece = std::max(1.0, give / others);
  for (size_t i = lanes_.size(); i-- > 0 && give >= 1;) {
    const std::shared_ptr<Lane> lane = lanes_[i];
    if (lane->lease.number() == 0) continue;  // a flush mark
    // Steps wait for it to be read, and another would read it from the split's start too: it would
    // come no sooner, and where each gives it up before it has come, never.
    if (lane == next && !lane->begun && lane->items.empty()) continue;
    give -= ShedLaneLocked(*lane, give, piece, cuts);
    if (!lane->dropped) continue;
    --held_;
    lanes_.erase(lanes_.begin() + static_cast<std::ptrdiff_t>(i));
    dropped.push_back(lane);
  }
  NoteDryLocked();
  ScheduleLocked();
  return cuts;
}

}  // namespace headrace
