// The leases of an epoch: which task may read which (split, pass) of which lane, under which
// number. Part of an Epoch.
#pragma once

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "common/ids.h"
#include "dispatcher/ledger/lane.h"

namespace headrace::dispatch {

struct Lease {
  LeaseNumber number;
  TaskId task;
  uint32_t lane = 0;
  Piece item;
  bool read_to_end = false;
  uint64_t position = 0;  // ordered: in the lane's list
};

class LeaseTable {
 public:
  void Add(const Lease& lease);
  void Remove(LeaseNumber number);
  // Null when it is not open. What it points to is good until the next Add or Remove.
  Lease* Find(LeaseNumber number);
  const Lease* Find(LeaseNumber number) const;
  // The leases over a place: one, or several where a split was cut. In no order.
  absl::Span<const LeaseNumber> At(uint32_t lane, SplitPass item) const;

  size_t size() const { return by_number_.size(); }
  // How many have been read to their end.
  size_t read_to_end() const { return read_to_end_; }
  void MarkReadToEnd(Lease& lease);
  // In no order.
  const absl::flat_hash_map<LeaseNumber, Lease>& all() const { return by_number_; }

 private:
  absl::flat_hash_map<LeaseNumber, Lease> by_number_;
  absl::flat_hash_map<std::pair<uint32_t, SplitPass>, absl::InlinedVector<LeaseNumber, 1>>
      by_place_;
  size_t read_to_end_ = 0;
};

}  // namespace headrace::dispatch
