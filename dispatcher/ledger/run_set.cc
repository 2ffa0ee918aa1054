#include "dispatcher/ledger/run_set.h"

#include <algorithm>

namespace headrace::dispatch {

uint64_t RunSet::Add(uint64_t first, uint64_t count) {
  if (count == 0 || first >= kMaxRecords) return 0;
  if (count == 1) {
    const bool added = bits_.addChecked(static_cast<uint32_t>(first));
    size_ += added ? 1 : 0;
    return added ? 1 : 0;
  }
  const uint64_t end = count > kMaxRecords - first ? kMaxRecords : first + count;
  const uint64_t before = roaring_bitmap_range_cardinality(&bits_.roaring, first, end);
  bits_.addRange(first, end);
  const uint64_t added = end - first - before;
  size_ += added;
  return added;
}

bool RunSet::Contains(uint64_t index) const {
  return index < kMaxRecords && bits_.contains(static_cast<uint32_t>(index));
}

bool RunSet::ContainsAll(uint64_t first, uint64_t count) const {
  if (count == 0) return true;
  if (first >= kMaxRecords || count > kMaxRecords - first) return false;
  return bits_.containsRange(first, first + count);
}

void RunSet::ForEachRun(absl::FunctionRef<void(uint64_t, uint64_t)> each) const {
  uint64_t first = 0;
  uint64_t count = 0;
  for (const uint32_t index : bits_) {
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

}  // namespace headrace::dispatch
