#include "worker/split_fill.h"

#include "common/status.h"

namespace headrace {

void SplitFill::Deposit(uint64_t first, uint64_t count, const Block& block) {
  {
    absl::MutexLock lock(&mutex_);
    if (fill_ == nullptr) return;
  }
  absl::StatusOr<std::vector<CoveredFrame>> frames = EncodeBlock(block, first, count);
  if (!frames.ok()) return Break();
  absl::MutexLock lock(&mutex_);
  if (fill_ == nullptr) return;
  waiting_.emplace(first, *std::move(frames));
  AdvanceLocked();
}

absl::Status SplitFill::AppendLocked(const CoveredFrame& covered) {
  std::vector<FrameSlice> pieces;
  if (covered.frame.bytes > 0) {
    const std::string& header = covered.frame.header;
    pieces.push_back({reinterpret_cast<const std::byte*>(header.data()), header.size()});
    pieces.insert(pieces.end(), covered.frame.payload.begin(), covered.frame.payload.end());
  }
  return fill_->Append({.first = covered.first,
                        .count = covered.count,
                        .bytes = covered.frame.bytes,
                        .pieces = pieces});
}

void SplitFill::AdvanceLocked() {
  while (!waiting_.empty() && waiting_.begin()->first == next_) {
    for (const CoveredFrame& frame : waiting_.begin()->second) {
      if (!AppendLocked(frame).ok()) {
        fill_.reset();
        waiting_.clear();
        return;
      }
      next_ = frame.first + frame.count;
    }
    waiting_.erase(waiting_.begin());
  }
  if (!records_ || next_ != *records_) return;
  fill_->Commit();
  fill_.reset();
}

void SplitFill::ReadToEnd(uint64_t records) {
  if (records == 0 || !unchanged_()) return Break();
  absl::MutexLock lock(&mutex_);
  if (fill_ == nullptr) return;
  records_ = records;
  AdvanceLocked();
}

void SplitFill::Break() {
  absl::MutexLock lock(&mutex_);
  fill_.reset();
  waiting_.clear();
}

}  // namespace headrace
