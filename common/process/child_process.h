// A child process of ours that cannot outlive us: the worker processes of `headrace up`.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace headrace {

// Owned by one thread. The destructor kills the process if it still runs, and reaps it.
class ChildProcess {
 public:
  // Runs `arguments[0]` (a path). The child gets SIGTERM by the kernel if this process dies. stdout
  // and stderr go to `log_path` (appended), or stay ours when it is empty.
  static absl::StatusOr<ChildProcess> Start(const std::vector<std::string>& arguments,
                                            const std::string& log_path);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;
  ~ChildProcess();

  pid_t pid() const { return pid_; }
  // How it ended, if it has: its exit code, or 128 + the signal.
  std::optional<int> Ended();
  void Signal(int signal);
  // Waits at most `timeout`; true when it has ended.
  bool WaitUntilEnded(absl::Duration timeout);

 private:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}
  pid_t pid_ = -1;
  std::optional<int> ended_;
};

}  // namespace headrace
