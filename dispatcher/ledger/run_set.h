// A set of record indexes of one split: compressed (CRoaring), added to in runs.
#pragma once

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "roaring/roaring.hh"

namespace headrace::dispatch {

class RunSet {
 public:
  // Indexes that it can hold are below this; ops refuse messages with larger ones.
  static constexpr uint64_t kMaxRecords = uint64_t{1} << 32;

  // Adds [first, first + count), cut at kMaxRecords. Returns how many were not there before.
  uint64_t Add(uint64_t first, uint64_t count);
  bool Contains(uint64_t index) const;
  bool ContainsAll(uint64_t first, uint64_t count) const;
  uint64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // Longest runs, in order.
  void ForEachRun(absl::FunctionRef<void(uint64_t first, uint64_t count)> each) const;

 private:
  Roaring bits_;
  uint64_t size_ = 0;
};

}  // namespace headrace::dispatch
