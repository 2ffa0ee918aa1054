// What happens to records between the reader and the first step: they get their pass, and those
// that are another shard's or another lease's, or were delivered before, are left out. One per
// lease, used by the thread that reads it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "element/block.h"
#include "pipeline/engine/skip_set.h"

namespace headrace {

class RecordSieve {
 public:
  struct Rule {
    uint32_t pass = 0;
    // Keep records with (split + index) % shards == shard. 1: all.
    uint64_t shard = 0;
    uint64_t shards = 1;
    // Null or empty: leave none out.
    std::shared_ptr<const SkipSet> skip;
    // Records before the first, and from the end on, are other leases'.
    uint64_t first = 0;
    uint64_t end = UINT64_MAX;
  };
  explicit RecordSieve(Rule rule) : rule_(std::move(rule)), first_(rule_.first), end_(rule_.end) {}

  // Every record of the split passes.
  bool passes_all() const {
    return rule_.shards <= 1 && (rule_.skip == nullptr || rule_.skip->empty()) && first_ == 0 &&
           end_ == UINT64_MAX;
  }
  // From here on the split is read anew from its first record, and those before `first` are left
  // out: they have passed already.
  void StartAt(uint64_t first) {
    first_ = std::max(first_, first);
    cursor_ = 0;
  }
  // The lease ends there now, before its split does.
  void EndAt(uint64_t end) { end_ = end; }

  struct Passed {
    uint64_t records = 0;  // in the block as read, damaged ones included
    uint64_t entered = 0;  // of those, what must come to an end in this task
    std::vector<std::pair<uint32_t, uint64_t>>
        parts_left_out;  // (parts, how many of them are in the skip set)
  };
  // `block` as it came from the reader, in ascending record order; after: what is left of it.
  Passed Sift(Block& block);

 private:
  void Select(Block& block);
  bool Keeps(uint64_t split, uint64_t index);

  const Rule rule_;
  size_t cursor_ = 0;
  uint64_t first_ = 0;
  uint64_t end_ = UINT64_MAX;
};

}  // namespace headrace
