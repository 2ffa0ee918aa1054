#include "pipeline/udf/python_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "common/status.h"

// Not declared by glibc's unistd.h in every mode.
extern char** environ;

namespace headrace::udf {
namespace {

constexpr size_t kFirstSegmentBytes = 64 << 10;
constexpr int kReapMillis = 5000;
constexpr int kEndingMillis = 200;
// What the subprocess finds, beside 0 to 2 (host.py).
constexpr int kSocketFd = 3;
constexpr int kScriptFd = 4;
constexpr int kRequestFd = 5;
constexpr int kAnswerFd = kRequestFd + static_cast<int>(kSlots);
constexpr int kFirstOwnFd = kAnswerFd + static_cast<int>(kSlots);
constexpr char kBoot[] = "import os;exec(compile(os.pread(4,1<<20,0),'<headrace>','exec'))";

void Close(int& fd) {
  if (fd >= 0) ::close(fd);
  fd = -1;
}

// Closes what it was given when it goes.
class Fds {
 public:
  ~Fds() {
    for (int fd : fds_) ::close(fd);
  }
  // A copy of `fd` above those that the subprocess gets, so that no dup2 of the list overwrites it.
  int High(int fd) {
    const int high = ::fcntl(fd, F_DUPFD_CLOEXEC, 64);
    if (high >= 0) fds_.push_back(high);
    return high;
  }
  void Add(int fd) { fds_.push_back(fd); }

 private:
  std::vector<int> fds_;
};

absl::StatusOr<int> ScriptFile() {
  const int fd = ::memfd_create("headrace-udf-host", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return ErrnoStatus(errno, "memfd_create");
  if (::write(fd, kHostScript, kHostScriptBytes) != static_cast<ssize_t>(kHostScriptBytes)) {
    ::close(fd);
    return ResourceExhausted("no memory for the host script");
  }
  return fd;
}

// One thread each, unless the operator says otherwise: the pool has a process per core already.
std::vector<std::string> Environment() {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) out.emplace_back(*entry);
  for (const char* name : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"}) {
    if (std::getenv(name) == nullptr) out.push_back(std::string(name) + "=1");
  }
  return out;
}

}  // namespace

absl::StatusOr<std::unique_ptr<PythonProcess>> PythonProcess::Start(const std::string& python) {
  std::unique_ptr<PythonProcess> process(new PythonProcess);
  for (Slot& slot : process->slots_) {
    HR_ASSIGN_OR_RETURN(slot.request, SharedSegment::Create("headrace-udf-in", kFirstSegmentBytes));
    HR_ASSIGN_OR_RETURN(slot.answer, SharedSegment::Create("headrace-udf-out", kFirstSegmentBytes));
  }
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0)
    return ErrnoStatus(errno, "socketpair");
  process->socket_ = sockets[0];
  Fds theirs;
  theirs.Add(sockets[1]);
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0) return ErrnoStatus(errno, "pipe");
  process->output_ = pipe[0];
  theirs.Add(pipe[1]);
  ::fcntl(process->output_, F_SETFL, O_NONBLOCK);
  ::fcntl(process->socket_, F_SETFL, O_NONBLOCK);
  HR_RETURN_IF_ERROR(process->Spawn(python, sockets[1], pipe[1]));
  process->pid_fd_ = static_cast<int>(::syscall(SYS_pidfd_open, process->pid_, 0));
  if (process->pid_fd_ < 0) return ErrnoStatus(errno, "pidfd_open");
  return process;
}

absl::Status PythonProcess::Spawn(const std::string& python, int socket, int output) {
  Fds high;
  HR_ASSIGN_OR_RETURN(const int script, ScriptFile());
  high.Add(script);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  std::vector<std::pair<int, int>> plan = {
      {output, 1}, {output, 2}, {socket, kSocketFd}, {script, kScriptFd}};
  for (size_t i = 0; i < kSlots; ++i) {
    plan.emplace_back(slots_[i].request.fd(), kRequestFd + static_cast<int>(i));
    plan.emplace_back(slots_[i].answer.fd(), kAnswerFd + static_cast<int>(i));
  }
  for (const auto& [from, to] : plan)
    ::posix_spawn_file_actions_adddup2(&actions, high.High(from), to);
  ::posix_spawn_file_actions_addclosefrom_np(&actions, kFirstOwnFd);

  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  // A group of its own: a terminal's Ctrl-C is the worker's business, and what the function starts
  // ends with it.
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(
      &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  std::vector<std::string> variables = Environment();
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  std::string words[] = {python, "-u", "-c", kBoot};
  char* argv[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
  const int error =
      ::posix_spawnp(&pid_, python.c_str(), &actions, &attributes, argv, environment.data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error == 0) return absl::OkStatus();
  pid_ = -1;
  const absl::Status status = ErrnoStatus(error, fmt::format("start {}", python));
  return FailedPrecondition("{}; udf_python in the worker's config names the interpreter",
                            std::string(status.message()));
}

PythonProcess::~PythonProcess() {
  Kill();
  Close(pid_fd_);
  Close(socket_);
  Close(output_);
}

bool PythonProcess::Send(std::span<const Message> messages) {
  const auto bytes = static_cast<ssize_t>(messages.size_bytes());
  return ::send(socket_, messages.data(), messages.size_bytes(), MSG_NOSIGNAL) == bytes;
}

absl::Status PythonProcess::Receive(std::vector<Message>& to) {
  std::array<Message, kSlots> messages;
  const ssize_t got = ::recv(socket_, messages.data(), sizeof(messages), MSG_TRUNC);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return absl::OkStatus();
  if (got <= 0) return Unavailable("gone");
  const auto bytes = static_cast<size_t>(got);
  if (bytes > sizeof(messages) || bytes % sizeof(Message) != 0)
    return DataLoss("sent a message of {} bytes", got);
  to.insert(to.end(), messages.begin(),
            messages.begin() + static_cast<ptrdiff_t>(bytes / sizeof(Message)));
  return absl::OkStatus();
}

bool PythonProcess::Connected() const {
  pollfd hung_up = {socket_, 0, 0};
  return ::poll(&hung_up, 1, 0) == 0;
}

std::string PythonProcess::TakeOutput(size_t most) {
  if (output_ < 0) return "";
  std::string out(most, '\0');
  const ssize_t got = ::read(output_, out.data(), most);
  out.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return out;
}

void PythonProcess::CloseOutput() { Close(output_); }

uint64_t PythonProcess::OwnBytes() const {
  const int fd = ::open(fmt::format("/proc/{}/statm", pid_).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char text[128] = {};
  const ssize_t got = ::read(fd, text, sizeof(text) - 1);
  ::close(fd);
  if (got <= 0) return 0;
  char* at = text;
  std::strtoull(at, &at, 10);
  const uint64_t resident = std::strtoull(at, &at, 10);
  const uint64_t shared = std::strtoull(at, &at, 10);
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return resident > shared ? (resident - shared) * page : 0;
}

// With SIGKILL sent; a process that the kernel holds (a dead network mount) is left behind.
void PythonProcess::Reap() {
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);  // should it have left its group
  reaped_ = true;
  pollfd ended = {pid_fd_, POLLIN, 0};
  if (pid_fd_ >= 0 && ::poll(&ended, 1, kReapMillis) == 0) return;
  if (::waitpid(pid_, &wait_status_, pid_fd_ >= 0 ? WNOHANG : 0) != pid_) wait_status_ = -1;
}

void PythonProcess::Kill() {
  if (pid_ >= 0 && !reaped_) Reap();
}

std::string PythonProcess::Ending() {
  if (!reaped_) {
    // Its own ending may be on its way: the socket closes a moment before.
    pollfd ended = {pid_fd_, POLLIN, 0};
    const bool by_itself = ::poll(&ended, 1, kEndingMillis) == 1;
    Reap();
    if (!by_itself) return "closed its socket and was killed";
  }
  if (wait_status_ != -1 && WIFSIGNALED(wait_status_)) {
    const int signal = WTERMSIG(wait_status_);
    return fmt::format("was ended by signal {} ({})", signal, ::strsignal(signal));
  }
  if (wait_status_ != -1) return fmt::format("exited with code {}", WEXITSTATUS(wait_status_));
  return "ended";
}

}  // namespace headrace::udf
