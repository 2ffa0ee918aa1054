// What an operator may set of a dispatcher. Plain values; the yaml keys are the names here, nested
// as here.
#pragma once

#include <cstdint>
#include <string>

#include "absl/time/time.h"

namespace headrace {

// Each has an error text that names its key (dispatcher/ops/limits.h).
struct DispatcherLimits {
  uint64_t max_jobs = 1000;  // running at a time
  uint64_t max_clients = 10'000;
  uint64_t max_workers = 10'000;
  uint64_t max_splits = 10'000'000;  // of one dataset
  uint64_t max_static_slots = 4096;
  uint64_t max_runs_per_message = 4'000'000;
  uint64_t max_leases_per_request = 256;
  uint64_t max_message_bytes = 256u << 20;
};

struct DispatcherConfig {
  std::string listen = "127.0.0.1:5050";  // "host:port" (port 0: any free one) or "unix:path"

  // Silent for longer: lost.
  absl::Duration worker_timeout = absl::Seconds(5);
  absl::Duration client_timeout = absl::Seconds(10);
  // A job without clients ends after that long; a client that comes earlier goes on where the last
  // one stopped.
  absl::Duration job_grace = absl::Minutes(5);

  absl::Duration worker_beat = absl::Milliseconds(500);
  absl::Duration client_beat = absl::Milliseconds(500);
  absl::Duration busy_beat =
      absl::Milliseconds(50);  // while a fence waits or an epoch is nearly over
  absl::Duration closing_beat =
      absl::Milliseconds(200);  // while everything is leased and some of it not yet read
  absl::Duration background_period = absl::Milliseconds(100);

  uint64_t target_split_bytes = 64u << 20;
  // Tasks of one epoch that may fail with a passing error before the job fails.
  uint32_t max_task_errors = 3;
  // A worker whose tasks of an epoch had to be fenced so often gets no more of them while others
  // are there.
  uint32_t max_strikes = 3;

  DispatcherLimits limits;
};

}  // namespace headrace
