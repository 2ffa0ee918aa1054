// A set of record indexes of one split, added to in runs: one run while that is enough (most splits
// are delivered front to back), then a compressed bitmap (CRoaring).
#pragma once

#include <cstdint>
#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "headrace/v1/journal.pb.h"
#include "roaring/roaring.hh"

namespace headrace::dispatch {

class RunSet {
 public:
  // Indexes that it can hold are below this; ops refuse messages with larger ones.
  static constexpr uint64_t kMaxRecords = uint64_t{1} << 32;

  // Adds [first, first + count), cut at kMaxRecords. Returns how many were not there before.
  uint64_t Add(uint64_t first, uint64_t count);
  bool Contains(uint64_t index) const { return ContainsAll(index, 1); }
  bool ContainsAll(uint64_t first, uint64_t count) const;
  uint64_t size() const { return size_; }
  // How many of them lie in [first, end).
  uint64_t CountIn(uint64_t first, uint64_t end) const;
  bool empty() const { return size_ == 0; }
  // Longest runs, in order.
  void ForEachRun(absl::FunctionRef<void(uint64_t first, uint64_t count)> each) const;

  // For snapshots. INVALID_ARGUMENT when `kept` is none of Keep's.
  void Keep(v1::KeptRuns& kept) const;
  absl::Status Reload(const v1::KeptRuns& kept);

 private:
  uint64_t AddToBits(uint64_t first, uint64_t end);

  std::unique_ptr<Roaring> bits_;  // null: [first_, first_ + size_)
  uint64_t first_ = 0;
  uint64_t size_ = 0;
};

}  // namespace headrace::dispatch
