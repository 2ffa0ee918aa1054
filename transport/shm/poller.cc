#include "transport/shm/poller.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "common/status.h"

namespace headrace {
namespace {

constexpr uint64_t kWakeToken = 0;

}  // namespace

absl::StatusOr<Poller> Poller::Make() {
  FileDescriptor epoll(::epoll_create1(EPOLL_CLOEXEC));
  FileDescriptor wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  Poller poller(std::move(epoll), std::move(wake));
  if (!poller.epoll_.valid() || !poller.wake_.valid() ||
      !poller.Watch(poller.wake_.get(), kWakeToken, EPOLLIN)) {
    return ErrnoStatus(errno, "epoll");
  }
  return poller;
}

bool Poller::Watch(int fd, uint64_t token, uint32_t events) {
  epoll_event event = {};
  event.events = events;
  event.data.u64 = token;
  return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

void Poller::Change(int fd, uint64_t token, uint32_t events) {
  epoll_event event = {};
  event.events = events;
  event.data.u64 = token;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
}

void Poller::Forget(int fd) { ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

void Poller::Wake() {
  const uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof(one));
}

std::span<const Poller::Event> Poller::Wait(absl::Duration timeout) {
  std::array<epoll_event, 64> events;
  const auto milliseconds = std::clamp<int64_t>(absl::ToInt64Milliseconds(timeout), 0, 60000);
  const int n = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                             static_cast<int>(milliseconds));
  size_t count = 0;
  for (int i = 0; i < n; ++i) {
    const epoll_event& event = events[static_cast<size_t>(i)];
    if (event.data.u64 == kWakeToken) {
      uint64_t drained = 0;
      (void)!::read(wake_.get(), &drained, sizeof(drained));
      continue;
    }
    events_[count++] = {event.data.u64, event.events};
  }
  return {events_.data(), count};
}

}  // namespace headrace
