#include "transport/shm/unix_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "common/status.h"

namespace headrace {
namespace {

constexpr int kBacklog = 128;
constexpr size_t kMaxDescriptors = 16;  // in one read
constexpr size_t kMaxPartsPerSend = 128;

struct Address {
  sockaddr_un un = {};
  socklen_t length = 0;
};

absl::StatusOr<Address> AddressOf(const std::string& name) {
  Address address;
  address.un.sun_family = AF_UNIX;
  if (name.size() < 2 || name.size() >= sizeof(address.un.sun_path)) {
    return InvalidArgument("'{}': a Unix socket's name has 2 to {} bytes", name,
                           sizeof(address.un.sun_path) - 1);
  }
  std::memcpy(address.un.sun_path, name.data(), name.size());
  const bool abstract = name[0] == '@';
  if (abstract) address.un.sun_path[0] = '\0';
  address.length =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() + (abstract ? 0 : 1));
  return address;
}

FileDescriptor StreamSocket() {
  return FileDescriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

void TakeDescriptors(msghdr& message, std::vector<FileDescriptor>& out) {
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
      out.emplace_back(fd);
    }
  }
}

}  // namespace

absl::StatusOr<FileDescriptor> ListenUnix(const std::string& name) {
  HR_ASSIGN_OR_RETURN(const Address address, AddressOf(name));
  FileDescriptor socket = StreamSocket();
  if (!socket.valid() ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address.un), address.length) != 0 ||
      ::listen(socket.get(), kBacklog) != 0) {
    return ErrnoStatus(errno, "listen on Unix socket " + name);
  }
  return socket;
}

absl::StatusOr<FileDescriptor> ConnectUnix(const std::string& name) {
  HR_ASSIGN_OR_RETURN(const Address address, AddressOf(name));
  FileDescriptor socket = StreamSocket();
  if (socket.valid() && ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address.un),
                                  address.length) == 0) {
    return socket;
  }
  const absl::Status status = ErrnoStatus(errno, "connect to Unix socket " + name);
  if (errno == EAGAIN) return Aborted("{}", std::string(status.message()));
  return Unavailable("{}", std::string(status.message()));
}

absl::StatusOr<PeerIdentity> PeerOf(const FileDescriptor& socket) {
  ucred credentials = {};
  socklen_t length = sizeof(credentials);
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) {
    return ErrnoStatus(errno, "ask who the peer is");
  }
  return PeerIdentity{credentials.pid, credentials.uid};
}

Received ReceiveSome(const FileDescriptor& socket, std::span<std::byte> to,
                     std::vector<FileDescriptor>* descriptors) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxDescriptors * sizeof(int))> control;
  iovec part{to.data(), to.size()};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (descriptors != nullptr) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
  }
  ssize_t n = 0;
  do {
    n = ::recvmsg(socket.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (n < 0 && errno == EINTR);
  Received out;
  if (n > 0) {
    out.bytes = static_cast<size_t>(n);
    if (descriptors != nullptr) {
      TakeDescriptors(message, *descriptors);
      out.lost = (message.msg_flags & MSG_CTRUNC) != 0;
    }
  } else {
    out.over = n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
  }
  return out;
}

void SendQueue::Push(Outgoing message) {
  bytes_ += message.head.size();
  for (const FrameSlice& part : message.parts) bytes_ += part.size;
  messages_.push_back(std::move(message));
}

void SendQueue::Clear() {
  messages_.clear();
  sent_ = 0;
  bytes_ = 0;
}

bool SendQueue::Flush(const FileDescriptor& socket) {
  while (!messages_.empty()) {
    std::array<iovec, kMaxPartsPerSend> parts;
    size_t count = 0;
    size_t skip = sent_;
    const auto add = [&](const void* data, size_t size) {
      if (skip >= size) {
        skip -= size;
      } else if (count < parts.size()) {
        parts[count++] = {static_cast<char*>(const_cast<void*>(data)) + skip, size - skip};
        skip = 0;
      }
    };
    for (const Outgoing& message : messages_) {
      // A descriptor goes with the first byte that is sent.
      if (count > 0 && message.descriptor.valid()) break;
      if (count == parts.size()) break;
      add(message.head.data(), message.head.size());
      for (const FrameSlice& part : message.parts) add(part.data, part.size);
    }
    msghdr out = {};
    out.msg_iov = parts.data();
    out.msg_iovlen = count;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control = {};
    if (sent_ == 0 && messages_.front().descriptor.valid()) {
      out.msg_control = control.data();
      out.msg_controllen = control.size();
      cmsghdr* c = CMSG_FIRSTHDR(&out);
      c->cmsg_level = SOL_SOCKET;
      c->cmsg_type = SCM_RIGHTS;
      c->cmsg_len = CMSG_LEN(sizeof(int));
      const int fd = messages_.front().descriptor.get();
      std::memcpy(CMSG_DATA(c), &fd, sizeof(fd));
    }
    const ssize_t n = ::sendmsg(socket.get(), &out, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    Sent(static_cast<size_t>(n));
  }
  return true;
}

void SendQueue::Sent(size_t bytes) {
  bytes_ -= bytes;
  sent_ += bytes;
  while (!messages_.empty()) {
    const Outgoing& first = messages_.front();
    size_t size = first.head.size();
    for (const FrameSlice& part : first.parts) size += part.size;
    if (sent_ < size) return;
    sent_ -= size;
    messages_.pop_front();
  }
}

}  // namespace headrace
