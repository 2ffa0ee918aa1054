// How a worker process of ours is started: `headrace worker`, by this same binary.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/process/child_process.h"

namespace headrace {

struct WorkerLaunch {
  std::string dispatcher = {};
  std::vector<std::string> arguments = {};  // further flags
  std::string log_directory = {};           // empty: our stderr

  // `log`: the name of its log file there, without ".log".
  absl::StatusOr<ChildProcess> Start(const std::string& log,
                                     const std::vector<std::string>& more = {}) const;
  // One that registers with this tag: for the orchestrator's driver.
  absl::StatusOr<ChildProcess> StartTagged(const std::string& tag) const {
    return Start(tag, {"--tags", tag});
  }
};

}  // namespace headrace
