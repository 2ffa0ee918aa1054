// One worker's part of an epoch. A task that is fenced never comes back: its place is taken by a
// task of another number.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/btree_set.h"
#include "common/ids.h"

namespace headrace::dispatch {

struct Task {
  TaskId id;
  WorkerId worker;
  uint32_t lane = 0;
  bool replay = false;
  bool fenced = false;
  // LeaseSplits is idempotent by request number: the last answer is kept.
  uint64_t last_request = 0;
  std::vector<LeaseNumber> last_answer;
  bool exhausted = false;  // was told that there is nothing to lease: to be woken when there is
  absl::btree_set<LeaseNumber> leases;
};

}  // namespace headrace::dispatch
