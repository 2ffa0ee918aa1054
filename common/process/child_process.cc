#include "common/process/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/time/clock.h"
#include "common/status.h"
#include "common/sync/signals.h"

namespace headrace {
namespace {

// Between fork and exec only async-signal-safe calls: other threads may have held any lock.
[[noreturn]] void RunChild(char* const* argv, int log, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(127);  // it died before prctl
  ShutdownSignal::ResetInChild();
  // A terminal's Ctrl-C reaches the whole group; the parent tells its children itself.
  ::setpgid(0, 0);
  if (log >= 0) {
    ::dup2(log, STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
  }
  ::execv(argv[0], argv);
  ::_exit(127);
}

}  // namespace

absl::StatusOr<ChildProcess> ChildProcess::Start(const std::vector<std::string>& arguments,
                                                 const std::string& log_path) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  int log = -1;
  if (!log_path.empty()) {
    log = ::open(log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (log < 0) return ErrnoStatus(errno, "open " + log_path);
  }
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) RunChild(argv.data(), log, parent);
  const int error = errno;
  if (log >= 0) ::close(log);
  if (pid < 0) return ErrnoStatus(error, "start " + arguments[0]);
  return ChildProcess(pid);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), ended_(other.ended_) {}

ChildProcess::~ChildProcess() {
  if (pid_ < 0 || Ended()) return;
  Signal(SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

std::optional<int> ChildProcess::Ended() {
  if (ended_ || pid_ < 0) return ended_;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) == pid_) {
    ended_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  return ended_;
}

void ChildProcess::Signal(int signal) {
  if (pid_ > 0 && !ended_) ::kill(pid_, signal);
}

bool ChildProcess::WaitUntilEnded(absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  while (!Ended()) {
    if (absl::Now() >= deadline) return false;
    absl::SleepFor(absl::Milliseconds(5));
  }
  return true;
}

}  // namespace headrace
