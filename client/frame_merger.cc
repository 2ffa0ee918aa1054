#include "client/frame_merger.h"

#include <algorithm>
#include <utility>

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
  if (it->second.frames.empty()) lines_.erase(it);
}

bool FrameMerger::Push(uint64_t task, std::shared_ptr<const FrameView> frame) {
  const auto it = lines_.find(task);
  if (it == lines_.end()) return false;
  Line& line = it->second;
  line.under_way -= static_cast<int64_t>(frame->bytes());
  if (frame->rows() == 0) return true;
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

uint64_t FrameMerger::Share() const {
  return std::max<uint64_t>(kLeastShare, budget_ / std::max<size_t>(1, lines_.size()));
}

uint64_t FrameMerger::TakeCredit(uint64_t task) {
  const auto it = lines_.find(task);
  if (it == lines_.end() || it->second.ended) return 0;
  Line& line = it->second;
  const auto share = static_cast<int64_t>(Share());
  const int64_t free = share - static_cast<int64_t>(line.held) - line.under_way;
  if (free < share / 4 || free <= 0) return 0;
  line.under_way += free;
  return static_cast<uint64_t>(free);
}

}  // namespace headrace
