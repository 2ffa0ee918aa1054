// What is remembered of tasks near the end of an epoch, when some have nothing left to lease and
// others more than they will soon be through with. Not part of State: after a restart they ask, and
// are asked, again. Guarded by the service's mutex.
#pragma once

#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "common/ids.h"

namespace headrace::dispatch {

struct Stragglers {
  struct Seen {
    std::optional<absl::Duration> leased;    // its first lease
    std::optional<absl::Duration> waits;     // since when it has been told to
    std::optional<absl::Duration> asked;     // to give some up, and has not
    std::optional<absl::Duration> declined;  // it had nothing to give up
  };
  absl::flat_hash_map<TaskId, Seen> tasks;
};

}  // namespace headrace::dispatch
