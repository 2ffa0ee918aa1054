// What a worker is told: configs/worker.yaml binds to this (worker_config.cc).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace headrace {

struct WorkerConfig {
  std::string dispatcher = "localhost:5050";
  std::string listen = "0.0.0.0:0";  // port 0: any free one
  // What clients dial; empty: the host's name and the bound port.
  std::string advertise;
  std::string metrics_listen;    // empty: no metrics server
  uint64_t compute_threads = 0;  // 0: one per core
  uint64_t io_threads = 4;
  std::vector<std::string> roots;  // directories that pipelines may read; empty: any
  std::vector<std::string> tags;

  uint64_t output_bytes = 64ull << 20;  // finished batches of one task that wait for a client
  uint64_t read_bytes = 32ull << 20;
  uint64_t stage_bytes = 32ull << 20;
  uint64_t max_element_bytes = 1ull << 30;
  uint64_t max_record_bytes = 1ull << 30;
  uint64_t max_tasks = 64;

  // How long a worker looks for its dispatcher at start before it gives up; zero: for ever.
  absl::Duration connect_timeout = absl::Seconds(60);
  absl::Duration call_timeout = absl::Seconds(5);
  absl::Duration shutdown_timeout = absl::Seconds(2);
};

}  // namespace headrace
