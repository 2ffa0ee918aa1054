// What a dispatcher is told: configs/dispatcher.yaml, HEADRACE_DISPATCHER_*, flags of `headrace
// dispatcher`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/byte_count.h"
#include "common/config/config.h"
#include "common/logging/logging.h"
#include "common/tls_files.h"
#include "dispatcher/journal/journal_config.h"

namespace headrace {

// Every error text about one of them names its key.
struct DispatcherLimits {
  int64_t max_jobs = 1000;
  int64_t max_clients = 10'000;
  int64_t max_workers = 10'000;
  int64_t max_splits = 10'000'000;
  int64_t max_static_slots = 4096;
  int64_t max_runs_per_message = 4'000'000;
  int64_t max_leases_per_request = 256;
  ByteCount max_message = MiB(256);
};

struct DispatcherConfig {
  std::string listen = "127.0.0.1:5050";
  std::string advertise;
  std::string metrics_listen;
  std::vector<std::string> roots;
  std::string token_file;
  TlsFiles tls;

  absl::Duration worker_timeout = absl::Seconds(5);
  absl::Duration client_timeout = absl::Seconds(10);
  absl::Duration job_grace = absl::Minutes(5);

  absl::Duration worker_beat = absl::Milliseconds(500);
  absl::Duration client_beat = absl::Milliseconds(500);
  absl::Duration busy_beat = absl::Milliseconds(50);
  absl::Duration closing_beat = absl::Milliseconds(200);
  absl::Duration shed_after = absl::Milliseconds(500);
  absl::Duration speculate_after = absl::Seconds(30);
  absl::Duration background_period = absl::Milliseconds(100);

  ByteCount target_split = MiB(64);
  int64_t max_task_errors = 3;
  int64_t max_strikes = 3;
  absl::Duration shutdown_timeout = absl::Seconds(2);

  JournalConfig journal;
  DispatcherLimits limits;
  LoggingConfig log;
};

ConfigSpec<DispatcherConfig> DispatcherConfigSpec();

}  // namespace headrace
