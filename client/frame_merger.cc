#include "client/frame_merger.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace headrace {
namespace {

constexpr uint64_t kLeastShare = 64 << 10;

}  // namespace

void FrameMerger::RemoveTask(uint64_t task) {
  const auto it = lines_.find(task);
  if (it == lines_.end()) return;
  held_bytes_ -= it->second.held;
  lines_.erase(it);
}

void FrameMerger::EndTask(uint64_t task) {
  const auto it = lines_.find(task);
  if (it == lines_.end()) return;
  it->second.ended = true;
  it->second.under_way = 0;
  if (it->second.frames.empty()) lines_.erase(it);
}

bool FrameMerger::Push(uint64_t task, std::shared_ptr<const FrameView> frame) {
  const auto it = lines_.find(task);
  if (it == lines_.end()) return false;
  Line& line = it->second;
  line.under_way -= static_cast<int64_t>(frame->bytes());
  if (frame->rows() == 0 && !frame->place()) return true;
  line.held += frame->bytes();
  held_bytes_ += frame->bytes();
  line.frames.push_back(std::move(frame));
  return true;
}

std::optional<FrameMerger::Row> FrameMerger::Pop() {
  // A frame that was begun is finished first; then the next task in the order of ids has its turn.
  auto it = lines_.find(last_task_);
  if (it == lines_.end() || it->second.row == 0) {
    it = lines_.upper_bound(last_task_);
    for (size_t i = 0; i < lines_.size() + 1; ++i) {
      if (it == lines_.end()) it = lines_.begin();
      if (it == lines_.end() || !it->second.frames.empty()) break;
      ++it;
    }
  }
  if (it == lines_.end() || it->second.frames.empty()) return std::nullopt;
  Line& line = it->second;
  last_task_ = it->first;
  Row row{it->first, line.frames.front(), line.row};
  if (++line.row == row.frame->rows()) {
    line.row = 0;
    line.held -= row.frame->bytes();
    held_bytes_ -= row.frame->bytes();
    line.frames.pop_front();
    if (line.ended && line.frames.empty()) lines_.erase(it);
  }
  return row;
}

std::shared_ptr<const FrameView> FrameMerger::Front(uint64_t task) const {
  const auto it = lines_.find(task);
  return it == lines_.end() || it->second.frames.empty() ? nullptr : it->second.frames.front();
}

std::shared_ptr<const FrameView> FrameMerger::PopFrame(uint64_t task) {
  const auto it = lines_.find(task);
  if (it == lines_.end() || it->second.frames.empty()) return nullptr;
  Line& line = it->second;
  std::shared_ptr<const FrameView> frame = std::move(line.frames.front());
  line.frames.pop_front();
  line.held -= frame->bytes();
  held_bytes_ -= frame->bytes();
  if (line.ended && line.frames.empty()) lines_.erase(it);
  return frame;
}

void FrameMerger::Discard(uint64_t task, uint64_t bytes) {
  const auto it = lines_.find(task);
  if (it != lines_.end()) it->second.under_way -= static_cast<int64_t>(bytes);
}

uint64_t FrameMerger::Share() const {
  return std::max<uint64_t>(kLeastShare, budget_ / std::max<size_t>(1, lines_.size()));
}

uint64_t FrameMerger::Total() const {
  uint64_t total = held_bytes_;
  for (const auto& [task, line] : lines_)
    total += static_cast<uint64_t>(std::max<int64_t>(0, line.under_way));
  return total;
}

uint64_t FrameMerger::Due(const Line& line, uint64_t total) const {
  if (line.ended) return 0;
  if (frame_limit_ != 0) {
    // The least credit that lets one frame come.
    return line.under_way <= 0 && rows() < frame_limit_ ? static_cast<uint64_t>(1 - line.under_way)
                                                        : 0;
  }
  const auto share = static_cast<int64_t>(Share());
  const int64_t free = share - static_cast<int64_t>(line.held) - line.under_way;
  if (free <= 0 || free < share / 4) return 0;
  const uint64_t left = total < budget_ ? budget_ - total : 0;
  const bool starved = line.held == 0 && line.under_way <= 0;
  // After a frame larger than its credit, what it went over by has to be granted before more comes.
  const uint64_t least = starved ? kLeastShare + static_cast<uint64_t>(-line.under_way) : 0;
  const uint64_t due = std::min(static_cast<uint64_t>(free), std::max(left, least));
  const uint64_t worth_it = std::min(kLeastShare, static_cast<uint64_t>(share / 4));
  return starved || due >= worth_it ? due : 0;
}

uint64_t FrameMerger::TakeCredit(uint64_t task) {
  const auto it = lines_.find(task);
  if (it == lines_.end()) return 0;
  const uint64_t due = Due(it->second, Total());
  it->second.under_way += static_cast<int64_t>(due);
  return due;
}

uint64_t FrameMerger::rows() const {
  uint64_t rows = 0;
  for (const auto& [task, line] : lines_) {
    for (const auto& frame : line.frames) rows += frame->rows();
    rows -= line.row;
  }
  return rows;
}

uint64_t FrameMerger::records() const {
  uint64_t records = 0;
  std::vector<Run> runs;
  for (const auto& [task, line] : lines_) {
    size_t row = line.row;
    for (const auto& frame : line.frames) {
      frame->AppendRuns(row, frame->rows(), runs);
      row = 0;
    }
  }
  for (const Run& run : runs) records += run.count;
  return records;
}

void FrameMerger::ForgetCredit(uint64_t task) {
  const auto it = lines_.find(task);
  if (it != lines_.end()) it->second.under_way = 0;
}

}  // namespace headrace
