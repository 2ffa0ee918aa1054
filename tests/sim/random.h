// The one source of randomness of a history.
#pragma once

#include <cstdint>
#include <random>

#include "absl/time/time.h"

namespace headrace::sim {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}

  // In [low, high].
  uint64_t Between(uint64_t low, uint64_t high) { return low + engine_() % (high - low + 1); }
  bool Chance(double probability) {
    return static_cast<double>(engine_() >> 11) * 0x1.0p-53 < probability;
  }
  absl::Duration Between(absl::Duration low, absl::Duration high) {
    return absl::Microseconds(Between(static_cast<uint64_t>(absl::ToInt64Microseconds(low)),
                                      static_cast<uint64_t>(absl::ToInt64Microseconds(high))));
  }
  uint64_t Next() { return engine_(); }

 private:
  std::mt19937_64 engine_;
};

// A function of its arguments alone, for properties of records.
inline uint64_t Mix(uint64_t a, uint64_t b) {
  uint64_t x = a * 0x9E3779B97F4A7C15ull + b + 0x632BE59BD9B4E019ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

}  // namespace headrace::sim
