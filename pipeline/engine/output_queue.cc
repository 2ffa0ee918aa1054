#include "pipeline/engine/output_queue.h"

#include <algorithm>
#include <utility>

namespace headrace {

OutputQueue::OutputQueue(Limits limits, bool batched, std::function<void()> on_ready,
                         std::function<void()> on_room)
    : limits_(limits),
      batched_(batched),
      on_ready_(std::move(on_ready)),
      on_room_(std::move(on_room)) {}

std::optional<Block> OutputQueue::TryPop() {
  std::optional<Block> out;
  bool made_room = false;
  {
    absl::MutexLock lock(&mutex_);
    if (blocks_.empty()) return std::nullopt;
    const uint64_t before = bytes_;
    out = std::move(blocks_.front());
    blocks_.pop_front();
    bytes_ -= out->bytes();
    // Full, then half full: a thread that woke for every block that leaves would spend its time on
    // waking. Blocks so large that one alone is more than half are announced as they go.
    made_room = before > limits_.max_bytes / 2 && bytes_ <= limits_.max_bytes / 2;
  }
  if (made_room && on_room_) on_room_();
  return out;
}

bool OutputQueue::empty() const {
  absl::MutexLock lock(&mutex_);
  return blocks_.empty();
}

bool OutputQueue::has_room() const {
  absl::MutexLock lock(&mutex_);
  return bytes_ < limits_.max_bytes;
}

uint64_t OutputQueue::bytes() const {
  absl::MutexLock lock(&mutex_);
  return bytes_;
}

uint64_t OutputQueue::peak_bytes() const {
  absl::MutexLock lock(&mutex_);
  return peak_bytes_;
}

void OutputQueue::Push(Block block) {
  if (block.rows() == 0) return;
  const size_t most = batched_ ? 1 : limits_.rows_per_block;
  bool was_empty = false;
  {
    absl::MutexLock lock(&mutex_);
    was_empty = blocks_.empty();
    while (block.rows() > most) AddLocked(block.TakeFront(most));
    AddLocked(std::move(block));
    peak_bytes_ = std::max(peak_bytes_, bytes_);
  }
  if (was_empty && on_ready_) on_ready_();
}

void OutputQueue::PushMark(SchemaPtr schema) {
  bool was_empty = false;
  {
    absl::MutexLock lock(&mutex_);
    was_empty = blocks_.empty();
    blocks_.emplace_back(std::move(schema));
    bytes_ += blocks_.back().bytes();
    peak_bytes_ = std::max(peak_bytes_, bytes_);
  }
  if (was_empty && on_ready_) on_ready_();
}

void OutputQueue::AddLocked(Block block) {
  bytes_ += block.bytes();
  if (!batched_ && !blocks_.empty() && blocks_.back().rows() > 0) {
    Block& last = blocks_.back();
    if (last.rows() + block.rows() <= limits_.rows_per_block &&
        last.bytes() + block.bytes() <= limits_.bytes_per_block) {
      bytes_ -= last.bytes() + block.bytes();
      last.Append(std::move(block));
      bytes_ += last.bytes();
      return;
    }
  }
  blocks_.push_back(std::move(block));
}

void OutputQueue::Clear() {
  std::deque<Block> dropped;
  absl::MutexLock lock(&mutex_);
  dropped.swap(blocks_);
  bytes_ = 0;
}

}  // namespace headrace
