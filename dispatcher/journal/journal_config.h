// The section `journal` of a dispatcher's config.
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/byte_count.h"
#include "common/config/config.h"
#include "common/tls_files.h"

namespace headrace {

struct JournalConfig {
  std::string driver = "file";
  std::string directory = "headrace-journal";
  ByteCount snapshot_after = MiB(64);
  // Of `etcd`.
  std::vector<std::string> endpoints;
  std::string prefix = "headrace";
  absl::Duration lease_ttl = absl::Seconds(5);
  bool compact_history = true;
  TlsFiles tls;
};

ConfigSpec<JournalConfig> JournalSection();

}  // namespace headrace
