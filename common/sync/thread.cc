#include "common/sync/thread.h"

#include <pthread.h>

#include <cstdlib>
#include <system_error>

#include "common/logging/logging.h"

namespace headrace {

Thread::Thread(std::string name, absl::AnyInvocable<void()> body) {
  constexpr size_t kMaxNameBytes = 15;
  try {
    thread_ =
        std::thread([short_name = name.substr(0, kMaxNameBytes), body = std::move(body)]() mutable {
          pthread_setname_np(pthread_self(), short_name.c_str());
          body();
        });
  } catch (const std::system_error& error) {
    LogError("cannot start thread {}: {}; raise the limit of processes (ulimit -u, pids cgroup)",
             name, error.what());
    std::abort();
  }
}

}  // namespace headrace
