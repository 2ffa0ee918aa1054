// epoll, and a way to wake who waits in it. Watching and waking from any thread; waiting by one.
#pragma once

#include <sys/epoll.h>

#include <array>
#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "transport/shm/file_descriptor.h"

namespace headrace {

class Poller {
 public:
  static absl::StatusOr<Poller> Make();

  // Events of `fd` (EPOLLIN, EPOLLOUT; errors always) come with `token`, which is not 0. False: the
  // kernel has no room for it.
  bool Watch(int fd, uint64_t token, uint32_t events);
  void Change(int fd, uint64_t token, uint32_t events);
  void Forget(int fd);
  void Wake();

  struct Event {
    uint64_t token;
    uint32_t events;
  };
  // What happened; empty after `timeout` or a Wake. The answer is valid until the next call.
  std::span<const Event> Wait(absl::Duration timeout);

 private:
  Poller(FileDescriptor epoll, FileDescriptor wake)
      : epoll_(std::move(epoll)), wake_(std::move(wake)) {}

  FileDescriptor epoll_;
  FileDescriptor wake_;
  std::array<Event, 64> events_ = {};
};

}  // namespace headrace
