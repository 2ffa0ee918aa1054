// What is remembered of tasks near the end of an epoch, when some have nothing left to lease and
// others more than they will soon be through with. Not part of State: after a restart they ask, and
// are asked, again. Guarded by the service's mutex.
#pragma once

#include <optional>
#include <set>

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
    uint64_t made = 0;                    // rows that went through its steps, when last looked at
    std::optional<absl::Duration> still;  // since when that has been so, while others had nothing
  };
  absl::flat_hash_map<TaskId, Seen> tasks;
  // Splits of the job's running epoch that were given out again from tasks that stood still.
  struct Stuck {
    uint64_t epoch = 0;
    uint32_t times = 0;
    std::set<WorkerId> workers;
  };
  absl::flat_hash_map<JobId, Stuck> stuck;
};

}  // namespace headrace::dispatch
