// How much CPU time the calling thread has used. Handed in, so that tests of fairness and of block
// sizes need no clock.
#pragma once

#include <cstdint>

namespace headrace {

// Thread-safe; lives longer than all that use it.
class CpuMeter {
 public:
  virtual ~CpuMeter() = default;
  // CPU nanoseconds of the calling thread since its start; only differences mean something.
  virtual uint64_t ThreadNanos() const = 0;
};

// CLOCK_THREAD_CPUTIME_ID. A system call (about 0.2 us): once per block and step, never per record.
const CpuMeter& RealCpuMeter();

}  // namespace headrace
