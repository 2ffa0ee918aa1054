#include "common/process_stats.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <thread>

namespace headrace {
namespace {

void Burn(int64_t nanos) {
  volatile uint64_t x = 1;
  for (const CpuTimer timer; timer.ElapsedNanos() < nanos;) {
    for (int i = 0; i < 1000; ++i) x = x * 3 + 1;
  }
}

TEST(CpuTimerTest, CountsThisThreadOnly) {
  CpuTimer timer;
  std::thread other([] { Burn(20'000'000); });
  other.join();
  EXPECT_LT(timer.LapNanos(), 15'000'000);
  Burn(5'000'000);
  EXPECT_GE(timer.LapNanos(), 5'000'000);
  EXPECT_LT(timer.ElapsedNanos(), 5'000'000);
}

TEST(ProcessStatsTest, SeesMemoryFilesAndTime) {
  const ProcessStats before = ReadProcessStats().value();
  constexpr size_t kBytes = 64 << 20;
  const auto memory = std::make_unique<char[]>(kBytes);
  std::memset(memory.get(), 1, kBytes);
  const int file = ::open("/dev/null", O_RDONLY);
  Burn(1'000'000);
  const ProcessStats after = ReadProcessStats().value();
  ::close(file);
  EXPECT_GT(after.resident.value - before.resident.value, int64_t{kBytes} / 2);
  EXPECT_EQ(after.open_files, before.open_files + 1);
  EXPECT_GT(after.cpu, before.cpu);
  EXPECT_GE(after.threads, 1);
}

}  // namespace
}  // namespace headrace
