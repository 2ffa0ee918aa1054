#include "transport/shm/shm_frame_server.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "common/logging/logging.h"
#include "common/status.h"
#include "common/sync/thread.h"
#include "fmt/format.h"
#include "transport/shm/host_tag.h"
#include "transport/shm/serving_link.h"
#include "transport/shm/shared_memory.h"

namespace headrace {
namespace {

constexpr char kPrefix[] = "headrace-";
constexpr char kSuffix[] = ".sock";
constexpr absl::Duration kTick = absl::Seconds(1);
constexpr absl::Duration kOpenTimeout = absl::Seconds(10);
constexpr size_t kMaxLinks = 4096;

// Tokens of the poller: each link has two, the socket's and its process's.
constexpr uint64_t kListener = 1;
constexpr uint64_t kFirstLink = 2;

absl::StatusOr<std::string> RandomHex(size_t bytes) {
  std::string random(bytes, '\0');
  if (::getrandom(random.data(), bytes, 0) != static_cast<ssize_t>(bytes))
    return ErrnoStatus(errno, "getrandom");
  std::string hex;
  for (char c : random) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return hex;
}

// Sockets whose process was killed: nobody answers there.
void RemoveStale(const std::string& directory) {
  DIR* listing = ::opendir(directory.c_str());
  if (listing == nullptr) return;
  while (const dirent* entry = ::readdir(listing)) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) continue;
    const std::string path = directory + "/" + std::string(name);
    if (absl::IsUnavailable(ConnectUnix(path).status())) ::unlink(path.c_str());
  }
  ::closedir(listing);
}

// The client's process, readable once it has ended: its socket may live on in a child of it.
FileDescriptor ProcessOf(const PeerIdentity& peer) {
  if (peer.pid <= 0) return FileDescriptor();
  return FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, peer.pid, 0)));
}

class ShmFrameServer final : public FrameServer {
 public:
  ShmFrameServer(const ShmFrameServerOptions& options, std::shared_ptr<ShmPool> pool,
                 const Clock& clock, StreamHandler& handler, Poller poller)
      : directory_(options.directory),
        clock_(clock),
        serving_{handler, std::move(pool), options.max_waiting_bytes, {}, std::move(poller)} {}
  ~ShmFrameServer() override { Shutdown(absl::ZeroDuration()); }

  absl::Status Start() {
    HR_RETURN_IF_ERROR(MakeNonce());
    HR_ASSIGN_OR_RETURN(const std::string random, RandomHex(16));
    if (directory_.empty()) {
      name_ = "@" + std::string(kPrefix) + random;
    } else {
      std::error_code error;
      directory_ = std::filesystem::absolute(directory_, error).string();
      RemoveStale(directory_);
      name_ = directory_ + "/" + kPrefix + random + kSuffix;
    }
    tag_ = HostTag(name_);
    absl::StatusOr<FileDescriptor> listener = ListenUnix(name_);
    if (!listener.ok()) return Unavailable("{}", std::string(listener.status().message()));
    listener_ = *std::move(listener);
    serving_.poller.Watch(listener_.get(), kListener, EPOLLIN);
    thread_ = Thread("hr-shm-serve", [this] { Run(); });
    return absl::OkStatus();
  }

  std::string address() const override { return tag_ + name_; }
  std::string transport() const override { return "shm:" + address(); }
  std::shared_ptr<FrameMemory> memory() const override { return serving_.pool; }

  void Shutdown(absl::Duration grace) override {
    {
      absl::MutexLock lock(&mutex_);
      if (!stopping_) stop_by_ = clock_.Steady() + grace;
      stopping_ = true;
    }
    serving_.poller.Wake();
    thread_.Join();
  }

 private:
  struct Entry {
    std::shared_ptr<ServingLink> link;
    FileDescriptor process;
  };

  absl::Status MakeNonce() {
    if (::getrandom(serving_.nonce.data(), serving_.nonce.size(), 0) !=
        static_cast<ssize_t>(serving_.nonce.size())) {
      return ErrnoStatus(errno, "getrandom");
    }
    HR_ASSIGN_OR_RETURN(OwnMemory made, MakeSharedMemory(kShmNonceSegment));
    std::memcpy(made.base, serving_.nonce.data(), serving_.nonce.size());
    Unmap(made.base, kShmNonceSegment);
    nonce_ = std::move(made.memory);
    return absl::OkStatus();
  }

  // --- The thread.
  void Run() {
    absl::Duration next_tick = clock_.Steady() + kTick;
    while (!Stopped()) {
      for (const Poller::Event& event : serving_.poller.Wait(Patience(next_tick))) {
        if (event.token == kListener) {
          Accept();
        } else {
          OnEvent(event);
        }
      }
      if (clock_.Steady() < next_tick) continue;
      next_tick = clock_.Steady() + kTick;
      Tick();
    }
    // What clients still read must stay as it is when their slots come back.
    serving_.pool->Close();
    for (auto& [token, entry] : links_) {
      entry.link->Over(Cancelled("worker {} shut down", name_));
    }
    links_.clear();
  }

  absl::Duration Patience(absl::Duration next_tick) {
    absl::MutexLock lock(&mutex_);
    return (stopping_ ? std::min(next_tick, stop_by_) : next_tick) - clock_.Steady();
  }

  // Also closes the door, and says whether it is time to go.
  bool Stopped() {
    absl::Duration stop_by;
    {
      absl::MutexLock lock(&mutex_);
      if (!stopping_) return false;
      stop_by = stop_by_;
    }
    if (listener_.valid()) {
      serving_.poller.Forget(listener_.get());
      listener_.Close();
      if (!directory_.empty()) ::unlink(name_.c_str());
    }
    return clock_.Steady() >= stop_by ||
           std::none_of(links_.begin(), links_.end(),
                        [](auto& entry) { return entry.second.link->streaming(); });
  }

  void Accept() {
    while (true) {
      FileDescriptor socket(
          ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!socket.valid()) {
        if (errno != EMFILE && errno != ENFILE) return;
        LogLimited(limiter_, LogLevel::kWarning, "shm: no descriptor left for a client");
        serving_.poller.Change(listener_.get(), kListener, 0);  // until the next tick
        return;
      }
      const absl::StatusOr<PeerIdentity> peer = PeerOf(socket);
      if (!peer.ok() || peer->uid != ::geteuid() || links_.size() >= kMaxLinks) {
        Refuse(socket, peer);
        continue;
      }
      Admit(std::move(socket), *peer);
    }
  }

  void Refuse(const FileDescriptor& socket, const absl::StatusOr<PeerIdentity>& peer) {
    SendQueue out;
    out.Push(EndMessage(links_.size() >= kMaxLinks
                            ? ResourceExhausted("{} clients are connected", kMaxLinks)
                            : PermissionDenied("shm serves user {} only, not {}", ::geteuid(),
                                               peer.ok() ? static_cast<int64_t>(peer->uid) : -1)));
    out.Flush(socket);
  }

  void Admit(FileDescriptor socket, const PeerIdentity& peer) {
    const uint64_t token = next_token_;
    next_token_ += 2;
    const int fd = socket.get();
    Entry entry{
        std::make_shared<ServingLink>(serving_, token, std::move(socket), peer, clock_.Steady()),
        ProcessOf(peer)};
    FileDescriptor nonce(::fcntl(nonce_.get(), F_DUPFD_CLOEXEC, 0));
    if (!nonce.valid() || !serving_.poller.Watch(fd, token, EPOLLIN)) return;
    if (entry.process.valid()) serving_.poller.Watch(entry.process.get(), token + 1, EPOLLIN);
    entry.link->Greet(std::move(nonce));
    links_.emplace(token, std::move(entry));
  }

  void OnEvent(const Poller::Event& event) {
    const bool process = (event.token - kFirstLink) % 2 == 1;
    const auto it = links_.find(event.token - (process ? 1 : 0));
    if (it == links_.end()) return;  // dealt with by an event before
    ServingLink& link = *it->second.link;
    bool alive = true;
    if ((event.events & EPOLLOUT) != 0 && !process) link.Write();
    // What it said before it went still counts.
    if ((event.events & ~uint32_t{EPOLLOUT}) != 0) alive = link.Read() && !process;
    if (alive) {
      link.Deliver();
      return;
    }
    if (it->second.process.valid()) serving_.poller.Forget(it->second.process.get());
    link.Over(Cancelled("client {} at {} went away", link.open().client(), link.peer()));
    links_.erase(it);
  }

  void Tick() {
    if (listener_.valid()) serving_.poller.Change(listener_.get(), kListener, EPOLLIN);
    serving_.pool->Trim();
    for (uint32_t segment : serving_.pool->TakeRetired()) {
      for (auto& [token, entry] : links_) entry.link->Forget(segment);
    }
    const absl::Duration patience = clock_.Steady() - kOpenTimeout;
    std::erase_if(links_, [&](auto& item) {
      if (!item.second.link->IdleSince(patience)) return false;
      item.second.link->Over(DeadlineExceeded("no stream was opened"));
      return true;
    });
  }

  std::string directory_;
  const Clock& clock_;
  std::string name_;  // of the socket
  std::string tag_;
  FileDescriptor nonce_;
  ShmServing serving_;
  // The thread's.
  FileDescriptor listener_;
  std::map<uint64_t, Entry> links_;
  uint64_t next_token_ = kFirstLink;
  LogLimiter limiter_{absl::Seconds(10)};

  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Duration stop_by_ ABSL_GUARDED_BY(mutex_) = absl::ZeroDuration();
  Thread thread_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<FrameServer>> StartShmFrameServer(
    const ShmFrameServerOptions& options, std::shared_ptr<ShmPool> pool, const Clock& clock,
    StreamHandler& handler) {
  HR_ASSIGN_OR_RETURN(Poller poller, Poller::Make());
  auto server =
      std::make_unique<ShmFrameServer>(options, std::move(pool), clock, handler, std::move(poller));
  HR_RETURN_IF_ERROR(server->Start());
  return server;
}

}  // namespace headrace
