// A named thread that is joined by its owner's destructor. The name shows in top, gdb and perf (the
// first 15 bytes). The body ends by itself or by a token that the owner cancels before it lets the
// Thread go.
#pragma once

#include <string>
#include <thread>
#include <utility>

#include "absl/functional/any_invocable.h"

namespace headrace {

class Thread {
 public:
  Thread() = default;
  // Starts at once. When the system has no thread left, says so on the log and aborts: a role
  // cannot run without its threads, and they are all started when it starts.
  Thread(std::string name, absl::AnyInvocable<void()> body);
  Thread(Thread&&) = default;
  Thread& operator=(Thread&& other) noexcept {
    Join();
    thread_ = std::move(other.thread_);
    return *this;
  }
  ~Thread() { Join(); }

  // Waits for the body's end; nothing if there is none. Not from the thread itself.
  void Join() {
    if (thread_.joinable()) thread_.join();
  }
  bool joinable() const { return thread_.joinable(); }

 private:
  std::thread thread_;
};

}  // namespace headrace
