#include "cli/worker_processes.h"

#include <signal.h>

#include "absl/time/clock.h"
#include "common/status.h"

namespace headrace {

absl::Status WorkerProcesses::Start(size_t count) {
  for (size_t i = 0; i < count; ++i) {
    HR_ASSIGN_OR_RETURN(ChildProcess process,
                        launch_.Start(fmt::format("worker-{}", processes_.size())));
    processes_.push_back(std::move(process));
  }
  return absl::OkStatus();
}

size_t WorkerProcesses::running() {
  size_t n = 0;
  for (ChildProcess& process : processes_) n += process.Ended() ? 0 : 1;
  return n;
}

std::string WorkerProcesses::Failure() {
  for (size_t i = 0; i < processes_.size(); ++i) {
    if (const std::optional<int> code = processes_[i].Ended()) {
      const std::string log = launch_.log_directory.empty()
                                  ? ""
                                  : fmt::format("; see {}/worker-{}.log", launch_.log_directory, i);
      return fmt::format("worker process {} (pid {}) ended with exit code {}{}", i,
                         processes_[i].pid(), *code, log);
    }
  }
  return "";
}

void WorkerProcesses::Stop(absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  for (ChildProcess& process : processes_) process.Signal(SIGTERM);
  for (ChildProcess& process : processes_)
    process.WaitUntilEnded(std::max(absl::ZeroDuration(), deadline - absl::Now()));
  processes_.clear();  // kills what is left
}

}  // namespace headrace
