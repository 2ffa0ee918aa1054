#include "dispatcher/ledger/run_set.h"

#include <algorithm>

#include "common/status.h"

namespace headrace::dispatch {

uint64_t RunSet::Add(uint64_t first, uint64_t count) {
  if (count == 0 || first >= kMaxRecords) return 0;
  const uint64_t end = count > kMaxRecords - first ? kMaxRecords : first + count;
  if (bits_ != nullptr) return AddToBits(first, end);
  const uint64_t own_end = first_ + size_;
  if (size_ != 0 && (first > own_end || end < first_)) {
    bits_ = std::make_unique<Roaring>();
    bits_->addRange(first_, own_end);
    return AddToBits(first, end);
  }
  const uint64_t before = size_;
  const uint64_t new_first = size_ == 0 ? first : std::min(first, first_);
  size_ = (size_ == 0 ? end : std::max(end, own_end)) - new_first;
  first_ = new_first;
  return size_ - before;
}

uint64_t RunSet::AddToBits(uint64_t first, uint64_t end) {
  uint64_t added = 0;
  if (end - first == 1) {
    added = bits_->addChecked(static_cast<uint32_t>(first)) ? 1 : 0;
  } else {
    added = end - first - roaring_bitmap_range_cardinality(&bits_->roaring, first, end);
    bits_->addRange(first, end);
  }
  size_ += added;
  // No gap is left: one run again.
  const uint64_t lowest = bits_->minimum();
  if (uint64_t{bits_->maximum()} - lowest + 1 == size_) {
    bits_ = nullptr;
    first_ = lowest;
  }
  return added;
}

bool RunSet::ContainsAll(uint64_t first, uint64_t count) const {
  if (count == 0) return true;
  if (first >= kMaxRecords || count > kMaxRecords - first) return false;
  if (bits_ == nullptr) return first >= first_ && first + count <= first_ + size_;
  return bits_->containsRange(first, first + count);
}

uint64_t RunSet::CountIn(uint64_t first, uint64_t end) const {
  end = std::min(end, kMaxRecords);
  if (first >= end) return 0;
  if (bits_ != nullptr) return roaring_bitmap_range_cardinality(&bits_->roaring, first, end);
  const uint64_t from = std::max(first, first_);
  const uint64_t to = std::min(end, first_ + size_);
  return from < to ? to - from : 0;
}

void RunSet::ForEachRun(absl::FunctionRef<void(uint64_t, uint64_t)> each) const {
  if (bits_ == nullptr) {
    if (size_ != 0) each(first_, size_);
    return;
  }
  uint64_t first = 0;
  uint64_t count = 0;
  for (const uint32_t index : *bits_) {
    if (count != 0 && index == first + count) {
      ++count;
      continue;
    }
    if (count != 0) each(first, count);
    first = index;
    count = 1;
  }
  if (count != 0) each(first, count);
}

void RunSet::Keep(v1::KeptRuns& kept) const {
  if (bits_ == nullptr) {
    kept.set_first(first_);
    kept.set_count(size_);
    return;
  }
  Roaring small = *bits_;
  small.runOptimize();
  kept.mutable_roaring()->resize(small.getSizeInBytes(/*portable=*/true));
  small.write(kept.mutable_roaring()->data(), /*portable=*/true);
}

absl::Status RunSet::Reload(const v1::KeptRuns& kept) {
  *this = RunSet();
  if (kept.roaring().empty()) {
    if (kept.first() > kMaxRecords || kept.count() > kMaxRecords - kept.first()) {
      return InvalidArgument("a run of records [{}, +{}) beyond the most that a split may have",
                             kept.first(), kept.count());
    }
    first_ = kept.first();
    size_ = kept.count();
    return absl::OkStatus();
  }
  roaring_bitmap_t* bits =
      roaring_bitmap_portable_deserialize_safe(kept.roaring().data(), kept.roaring().size());
  if (bits == nullptr) return InvalidArgument("a bitmap of records that is none");
  bits_ = std::make_unique<Roaring>(bits);
  size_ = bits_->cardinality();
  return absl::OkStatus();
}

}  // namespace headrace::dispatch
