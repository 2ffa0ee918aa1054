#include "common/sync/signals.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "common/logging/logging.h"

namespace headrace {
namespace {

constexpr int kExitAfterSecondSignal = 130;  // what a shell reports for a command that Ctrl-C ended

sigset_t Handled() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace

ShutdownSignal::ShutdownSignal() {
  const sigset_t handled = Handled();
  pthread_sigmask(SIG_BLOCK, &handled, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  signals_fd_ = ::signalfd(-1, &handled, SFD_CLOEXEC);
  stop_fd_ = ::eventfd(0, EFD_CLOEXEC);
  if (signals_fd_ < 0 || stop_fd_ < 0) {
    LogError("cannot watch for signals: {}", std::strerror(errno));
    std::abort();
  }
  thread_ = Thread("signals", [this] { Run(); });
}

ShutdownSignal::~ShutdownSignal() {
  const uint64_t one = 1;
  while (::write(stop_fd_, &one, sizeof(one)) < 0 && errno == EINTR) {
  }
  thread_.Join();
  ::close(signals_fd_);
  ::close(stop_fd_);
}

void ShutdownSignal::ResetInChild() {
  ::signal(SIGPIPE, SIG_DFL);
  const sigset_t handled = Handled();
  pthread_sigmask(SIG_UNBLOCK, &handled, nullptr);
}

void ShutdownSignal::Run() {
  pollfd fds[2] = {{signals_fd_, POLLIN, 0}, {stop_fd_, POLLIN, 0}};
  for (;;) {
    if (::poll(fds, 2, -1) < 0) continue;  // EINTR
    if (fds[1].revents != 0) return;
    signalfd_siginfo info;
    if (::read(signals_fd_, &info, sizeof(info)) != static_cast<ssize_t>(sizeof(info))) continue;
    if (source_.Cancelled()) {
      constexpr char kText[] = "second signal: ending at once\n";
      (void)!::write(STDERR_FILENO, kText, sizeof(kText) - 1);
      ::_exit(kExitAfterSecondSignal);
    }
    LogInfo("{}: shutting down; a second signal ends at once",
            info.ssi_signo == SIGINT ? "SIGINT" : "SIGTERM");
    source_.Cancel();
  }
}

}  // namespace headrace
