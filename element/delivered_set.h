// Which elements of an epoch were delivered: what a client's saved state holds, and what a
// dispatcher restores from. Small: a split of which all records from the first one on are there is
// a number, others are compressed bitmaps (CRoaring). Thread-free.
//
// Add() is called for every run that a trainer is handed, in any order, each element once or more
// often. Decode() takes bytes of strangers: an error leaves the set as it was.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "element/provenance.h"
#include "headrace/v1/loader_state.pb.h"
#include "roaring/roaring.hh"

namespace headrace {

class DeliveredSet {
 public:
  // Record indexes, split numbers and parts are below this.
  static constexpr uint64_t kMost = uint64_t{1} << 32;
  // Splits that a state may name: a stranger's `repeat` costs memory here.
  static constexpr uint64_t kMostSplits = 20'000'000;

  void Add(const Run& run);
  // So many records of the split become output (loader_state.proto).
  void SetNeed(uint64_t split, uint32_t pass, uint64_t need);
  void Clear();

  bool empty() const { return splits_.empty() && parts_.empty(); }
  size_t splits() const { return splits_.size(); }
  // Whole records.
  uint64_t records() const;
  // All splits and passes that it names are below these.
  uint64_t split_bound() const;
  uint64_t pass_bound() const;
  bool Contains(const Run& run) const;

  v1::DeliveredSet Encode() const { return EncodeShare(0, 1); }
  // Of splits whose number leaves `which` when divided by `of`: shares of all `which` unite to all.
  v1::DeliveredSet EncodeShare(uint64_t which, uint64_t of) const;
  // Unites with what was encoded. INVALID_ARGUMENT says what is wrong with it.
  absl::Status Merge(const v1::DeliveredSet& encoded);

  // Whole records in runs, split by split in the order of (pass, split); then single parts.
  void ForEachRun(absl::FunctionRef<void(const Run& run)> each) const;
  void ForEachNeed(
      absl::FunctionRef<void(uint64_t split, uint32_t pass, uint64_t need)> each) const;

 private:
  using Place = std::pair<uint32_t, uint64_t>;  // pass, split
  static constexpr uint64_t kUnknown = ~uint64_t{0};
  struct Records {
    uint64_t prefix = 0;  // [0, prefix) are there; `rest` holds others, beyond it
    uint64_t need = kUnknown;
    std::unique_ptr<Roaring> rest;
  };
  struct Parts {
    uint32_t parts = 0;  // of how many
    std::vector<uint32_t> seen;
  };
  void AddRecords(Records& records, uint64_t first, uint64_t count);
  void AddPart(const Run& run, uint64_t index);
  absl::Status MergeChecked(const v1::DeliveredSet& encoded);
  std::vector<Place> Places() const;

  absl::flat_hash_map<Place, Records> splits_;
  std::map<std::pair<Place, uint64_t>, Parts> parts_;  // by record
};

}  // namespace headrace
