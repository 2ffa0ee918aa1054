// The worker processes of `headrace up` and of a run with --workers: children of this process,
// never left behind.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "cli/child_process.h"

namespace headrace {

class WorkerProcesses {
 public:
  // `arguments`: further flags for `headrace worker`. Logs go to `log_directory`/worker-N.log, or
  // to our stderr when it is empty.
  WorkerProcesses(std::string dispatcher, std::vector<std::string> arguments,
                  std::string log_directory)
      : dispatcher_(std::move(dispatcher)),
        arguments_(std::move(arguments)),
        log_directory_(std::move(log_directory)) {}
  // Stop(2 s).
  ~WorkerProcesses() { Stop(absl::Seconds(2)); }

  absl::Status Start(size_t count);
  size_t running();
  // The first that ended by itself, as a message; "" when all run.
  std::string Failure();
  // SIGTERM to all, SIGKILL to those that are left after `timeout`.
  void Stop(absl::Duration timeout);

 private:
  const std::string dispatcher_;
  const std::vector<std::string> arguments_;
  const std::string log_directory_;
  std::vector<ChildProcess> processes_;
};

}  // namespace headrace
