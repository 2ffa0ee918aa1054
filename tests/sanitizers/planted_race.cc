// The tsan preset must still see a race beside what tsan_absl_sync.cc declares ordered: this
// program has one (a thread writes without the lock that the other takes), and its test passes when
// TSan makes it fail.
#include <cstdio>
#include <thread>

#include "absl/synchronization/mutex.h"

int main() {
  absl::Mutex mutex;
  int shared = 0;
  std::thread guarded([&] {
    absl::MutexLock lock(&mutex);
    ++shared;
  });
  std::thread racing([&] { ++shared; });
  guarded.join();
  racing.join();
  std::printf("%d\n", shared);
  return 0;
}
