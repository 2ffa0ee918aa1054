#include "common/process_stats.h"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "common/status.h"

namespace headrace {
namespace {

absl::Duration ToDuration(const timeval& t) {
  return absl::Seconds(t.tv_sec) + absl::Microseconds(t.tv_usec);
}

absl::StatusOr<int64_t> CountEntries(const char* folder) {
  std::error_code error;
  int64_t entries = 0;
  for (auto it = std::filesystem::directory_iterator(folder, error);
       !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    ++entries;
  }
  if (error) return ErrnoStatus(error.value(), folder);
  return entries;
}

}  // namespace

int64_t ThreadCpuNanos() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

absl::StatusOr<ProcessStats> ReadProcessStats() {
  ProcessStats out;
  std::ifstream statm("/proc/self/statm");
  int64_t size_pages = 0, resident_pages = 0;
  if (!(statm >> size_pages >> resident_pages)) return Unavailable("cannot read /proc/self/statm");
  out.resident.value = resident_pages * ::sysconf(_SC_PAGESIZE);
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  out.cpu = ToDuration(usage.ru_utime) + ToDuration(usage.ru_stime);
  HR_ASSIGN_OR_RETURN(out.threads, CountEntries("/proc/self/task"));
  HR_ASSIGN_OR_RETURN(out.open_files, CountEntries("/proc/self/fd"));
  --out.open_files;  // the one that read the folder
  return out;
}

}  // namespace headrace
