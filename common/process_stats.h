// What this process and thread use. Linux only; callable from any thread.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/byte_count.h"

namespace headrace {

// CPU time of the calling thread. A system call of about 0.2 us on this kind of machine: per block,
// not per record.
int64_t ThreadCpuNanos();

// CPU time that the calling thread spends. Made and read in one thread.
class CpuTimer {
 public:
  CpuTimer() : start_(ThreadCpuNanos()) {}
  int64_t ElapsedNanos() const { return ThreadCpuNanos() - start_; }
  // Since the start or the last lap.
  int64_t LapNanos() {
    const int64_t now = ThreadCpuNanos();
    const int64_t lap = now - start_;
    start_ = now;
    return lap;
  }

 private:
  int64_t start_;
};

struct ProcessStats {
  ByteCount resident = {};  // RSS
  absl::Duration cpu = {};  // user and system, all threads, since the start
  int64_t threads = 0;
  int64_t open_files = 0;
};
// From /proc/self.
absl::StatusOr<ProcessStats> ReadProcessStats();

}  // namespace headrace
