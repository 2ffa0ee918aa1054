// Keyed random numbers: Philox4x32-10 (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2,
// 3", SC'11, section 3). The same record gets the same draw on any worker, thread and retry, and
// another one each epoch.
#pragma once

#include <array>
#include <cstdint>

#include "element/provenance.h"

namespace headrace {

struct RandomKey {
  uint64_t seed = 0;  // of the pipeline or of the step
  uint64_t epoch = 0;
  uint32_t step = 0;  // position of the step in the pipeline as written, so rewrites change nothing
};

// Ten rounds over one counter block.
std::array<uint32_t, 4> Philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

// A stream of numbers for one element. Value type, no allocation.
class RandomStream {
 public:
  // For the record (or batch) whose first run is `run`.
  RandomStream(const RandomKey& key, const Run& run);
  // For something that is not a record: a shuffle buffer, a permutation of splits.
  RandomStream(const RandomKey& key, uint64_t a, uint64_t b);

  uint32_t Next32();
  uint64_t Next64() { return (static_cast<uint64_t>(Next32()) << 32) | Next32(); }
  // [0, 1), 53 bits.
  double Uniform() { return static_cast<double>(Next64() >> 11) * 0x1.0p-53; }
  double Uniform(double low, double high) { return low + (high - low) * Uniform(); }
  // [0, n), n > 0, without bias (Lemire's multiply and reject).
  uint64_t Below(uint64_t n);
  // Standard normal (Box-Muller).
  double Normal();

 private:
  std::array<uint32_t, 4> counter_;
  std::array<uint32_t, 2> key_;
  std::array<uint32_t, 4> block_{};
  int used_ = 4;
};

}  // namespace headrace
