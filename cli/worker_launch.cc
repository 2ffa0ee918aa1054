#include "cli/worker_launch.h"

#include "fmt/format.h"

namespace headrace {

absl::StatusOr<ChildProcess> WorkerLaunch::Start(const std::string& log,
                                                 const std::vector<std::string>& more) const {
  std::vector<std::string> all = {"/proc/self/exe", "worker",   "--dispatcher",
                                  dispatcher,       "--listen", "127.0.0.1:0"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  all.insert(all.end(), more.begin(), more.end());
  return ChildProcess::Start(
      all, log_directory.empty() ? "" : fmt::format("{}/{}.log", log_directory, log));
}

}  // namespace headrace
