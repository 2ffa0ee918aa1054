// What an orchestrator is told: configs/orchestrator.yaml, HEADRACE_ORCHESTRATOR_*, flags of
// `headrace orchestrator`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/config/config.h"
#include "common/logging/logging.h"
#include "common/tls_files.h"
#include "orchestrator/autoscale/autoscaler.h"
#include "orchestrator/placement/placement_policy.h"

namespace headrace {

struct OrchestratorPrices {
  double trainer = 20;
  double worker = 1;
};

struct CachingConfig {
  bool enabled = true;
  ByteCount network_bytes_per_second = {0};
};

struct ProcessDriverConfig {
  std::vector<std::string> worker_arguments = {};
  std::string log_directory = {};
  absl::Duration drain_timeout = absl::Minutes(2);
};

struct KubernetesDriverConfig {
  std::string url = {};
  std::string ca_file = {};
  std::string token_file = {};
  std::string namespace_name = {};
  std::string kind = "deployment";
  std::string name = {};
};

struct OrchestratorConfig {
  std::string dispatcher = "localhost:5050";
  std::string token_file = {};
  TlsFiles tls;
  std::string metrics_listen = {};
  std::string driver = "none";
  int64_t min_workers = 1;
  int64_t max_workers = 64;
  OrchestratorPrices prices;
  absl::Duration window = absl::Seconds(10);
  absl::Duration poll = absl::Seconds(1);
  double stall_high = 0.02;
  double stall_low = 0.005;
  double queue_high = 0.8;
  int64_t calm_windows = 3;
  absl::Duration idle_time = absl::Minutes(1);
  absl::Duration start_patience = absl::Minutes(3);
  absl::Duration call_timeout = absl::Seconds(2);
  CachingConfig caching;
  ProcessDriverConfig process;
  KubernetesDriverConfig kubernetes;
  LoggingConfig log;
};

ConfigSpec<OrchestratorConfig> OrchestratorConfigSpec();
orchestrate::AutoscaleOptions AutoscaleOptionsOf(const OrchestratorConfig& config);
orchestrate::CachingOptions CachingOptionsOf(const OrchestratorConfig& config);

}  // namespace headrace
