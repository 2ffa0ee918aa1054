// The worker processes of `headrace up` and of a run with --workers: children of this process,
// never left behind.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "cli/worker_launch.h"
#include "common/process/child_process.h"

namespace headrace {

class WorkerProcesses {
 public:
  // `arguments`: further flags for `headrace worker`. Logs go to `log_directory`/worker-N.log, or
  // to our stderr when it is empty.
  WorkerProcesses(std::string dispatcher, std::vector<std::string> arguments,
                  std::string log_directory)
      : launch_{std::move(dispatcher), std::move(arguments), std::move(log_directory)} {}
  // Stop(2 s).
  ~WorkerProcesses() { Stop(absl::Seconds(2)); }

  absl::Status Start(size_t count);
  size_t running();
  // The first that ended by itself, as a message; "" when all run.
  std::string Failure();
  // SIGTERM to all, SIGKILL to those that are left after `timeout`.
  void Stop(absl::Duration timeout);

 private:
  const WorkerLaunch launch_;
  std::vector<ChildProcess> processes_;
};

}  // namespace headrace
