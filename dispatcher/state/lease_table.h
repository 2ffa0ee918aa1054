// The leases of an epoch: which task may read which (split, pass) of which lane, under which
// number. Part of an Epoch.
#pragma once

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "common/ids.h"
#include "dispatcher/ledger/lane.h"

namespace headrace::dispatch {

struct Lease {
  LeaseNumber number;
  TaskId task;
  uint32_t lane = 0;
  SplitPass item;
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
  // The lease over a place; null when it is not leased.
  const Lease* At(uint32_t lane, SplitPass item) const;

  size_t size() const { return by_number_.size(); }
  // How many have been read to their end.
  size_t read_to_end() const { return read_to_end_; }
  void MarkReadToEnd(Lease& lease);
  // In no order.
  const absl::flat_hash_map<LeaseNumber, Lease>& all() const { return by_number_; }

 private:
  absl::flat_hash_map<LeaseNumber, Lease> by_number_;
  absl::flat_hash_map<std::pair<uint32_t, SplitPass>, LeaseNumber> by_place_;
  size_t read_to_end_ = 0;
};

}  // namespace headrace::dispatch
