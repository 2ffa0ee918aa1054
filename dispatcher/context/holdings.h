// Which splits the caches of workers have, as their tasks told it. Not part of State: a task tells
// it with its first request for leases, and is asked again by a dispatcher that was started anew.
// What is out of date in it costs speed alone. Guarded by the service's mutex.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "common/ids.h"
#include "roaring/roaring.hh"

namespace headrace::dispatch {

struct Holdings {
  struct Held {
    bool told = false;
    uint64_t telling = 0;  // which; differs between any two
    Roaring splits;        // at most a bit for each of the job's
    // Since when there is nothing for it but what others have.
    std::optional<absl::Duration> waits;
  };
  // What all tasks of a lane together have, made when it is asked for.
  struct Together {
    std::vector<std::pair<TaskId, uint64_t>> of;  // tasks, and which telling of each
    Roaring splits;
  };
  // Leases of splits that the asking worker has, that nobody has, that others have; and how often
  // one was told that the rest is others'. Since the process began, of jobs with caches.
  struct Counts {
    uint64_t here = 0;
    uint64_t cold = 0;
    uint64_t elsewhere = 0;
    uint64_t held_back = 0;
  };

  absl::flat_hash_map<TaskId, Held> tasks;
  absl::flat_hash_map<JobId, Together> together;
  uint64_t tellings = 0;
  Counts counts;
};

}  // namespace headrace::dispatch
