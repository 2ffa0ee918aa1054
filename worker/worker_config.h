// What a worker is told: configs/worker.yaml, HEADRACE_WORKER_*, flags of `headrace worker`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/byte_count.h"
#include "common/config/config.h"
#include "common/logging/logging.h"
#include "common/tls_files.h"
#include "pipeline/udf/function_pool.h"

namespace headrace {

struct DiskCacheConfig {
  std::string path;
  ByteCount bytes = GiB(16);
};

struct CacheConfig {
  ByteCount memory_bytes = {0};
  DiskCacheConfig disk;
};

struct WorkerConfig {
  std::string dispatcher = "localhost:5050";
  std::string listen = "0.0.0.0:0";
  std::string advertise;
  std::vector<std::string> transports = {"shm", "tcp", "grpc"};
  std::string tcp_listen;
  std::string shm_directory;
  ByteCount shm_bytes = GiB(1);
  std::string compression = "auto";
  bool checksums = true;
  std::string token_file;
  TlsFiles tls;
  std::string metrics_listen;
  int64_t compute_threads = 0;
  int64_t io_threads = 4;
  std::vector<std::string> roots;
  std::vector<std::string> tags;

  ByteCount output_bytes = MiB(64);
  ByteCount read_bytes = MiB(32);
  ByteCount stage_bytes = MiB(32);
  ByteCount max_element_bytes = GiB(1);
  ByteCount max_record_bytes = GiB(1);

  CacheConfig cache;

  absl::Duration connect_timeout = absl::Seconds(60);
  absl::Duration call_timeout = absl::Seconds(5);
  absl::Duration shutdown_timeout = absl::Seconds(2);

  std::string udf = "off";
  std::string udf_python = "python3";
  std::vector<std::string> udf_path;
  int64_t udf_processes = 0;
  ByteCount udf_memory_bytes = GiB(4);
  ByteCount udf_block_bytes = GiB(1);
  absl::Duration udf_load_timeout = absl::Seconds(120);
  LogLevel udf_output = LogLevel::kInfo;  // what they print; no key: a role logs from info on

  LoggingConfig log;
};

ConfigSpec<WorkerConfig> WorkerConfigSpec();
// What its udf keys say.
FunctionPoolOptions FunctionOptionsOf(const WorkerConfig& config);

}  // namespace headrace
