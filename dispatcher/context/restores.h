// Restores under way: readers that have handed in their states of a checkpoint and wait for the
// others. Not part of State: a dispatcher that restarts asks them again. Guarded by the service's
// mutex.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "common/ids.h"
#include "element/delivered_set.h"
#include "headrace/v1/loader_state.pb.h"

namespace headrace::dispatch {

// A state as a reader handed it in, and what it says was delivered.
struct SavedState {
  v1::LoaderState state;
  DeliveredSet delivered;
};

struct PendingRestore {
  // A reader that does not ask for that long has gone, and what it handed in with it.
  static constexpr absl::Duration kPatience = absl::Seconds(5);

  struct Reader {
    ClientId client;
    absl::Duration asked;  // last
    // It has asked since all had come: so no life begins with a reader that died while it waited.
    bool confirmed = false;
    std::vector<std::shared_ptr<const SavedState>> states;
  };
  uint32_t readers = 0;
  std::map<uint32_t, Reader> entries;

  bool AllHere() const { return entries.size() == readers; }
};

struct Restores {
  absl::flat_hash_map<JobId, PendingRestore> pending;
};

}  // namespace headrace::dispatch
