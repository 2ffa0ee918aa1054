// What a trainer may say about a job and its own part of it.
#pragma once

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "common/tls_files.h"
#include "headrace/v1/dispatcher.pb.h"

namespace headrace {

struct ClientOptions {
  absl::Duration connect_timeout = absl::Seconds(10);  // how long to look for the dispatcher
  absl::Duration call_timeout = absl::Seconds(5);      // bound of one call to it
  // How long a dispatcher may be away before the loader gives up; workers go on sending meanwhile.
  absl::Duration outage_timeout = absl::Minutes(10);
  // How frames come: "auto" (the best that each worker offers), or a transport's name to force it.
  std::string transport = "auto";
  // What the dispatcher and workers are shown and checked by, where their config asks for it.
  std::string token_file;
  TlsFiles tls;
};

struct StreamOptions {
  std::string job;  // empty: a job of its own
  v1::JobOptions job_options;
  uint32_t rank = 0;
  // Frames that may be held and under way, all workers together. A larger frame still comes, one at
  // a time.
  uint64_t prefetch_bytes = 256ull << 20;
};

}  // namespace headrace
