// The section `journal` of a dispatcher's config.
#pragma once

#include <string>

#include "common/byte_count.h"
#include "common/config/config.h"

namespace headrace {

struct JournalConfig {
  std::string driver = "file";
  std::string directory = "headrace-journal";
  ByteCount snapshot_after = MiB(64);
};

ConfigSpec<JournalConfig> JournalSection();

}  // namespace headrace
