// Random numbers for simulators and property tests: the same seed gives the same stream on every
// machine and standard library. Not for anything that ships records: pipelines have their own.
// One thread per object.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace headrace::orchestrate {

class SeededRandom {
 public:
  explicit SeededRandom(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 0xD1B54A32D192ED03u) {}

  uint64_t Next() {  // SplitMix64 (Steele, Lea, Flood 2014)
    uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  // In [0, 1).
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }
  double Uniform(double low, double high) { return low + (high - low) * Uniform(); }
  // As many draws in each octave.
  double LogUniform(double low, double high) {
    return std::exp(Uniform(std::log(low), std::log(high)));
  }
  // In [0, count); count > 0. The bias is count / 2^64.
  size_t Below(size_t count) { return static_cast<size_t>(Next() % count); }
  bool Chance(double probability) { return Uniform() < probability; }
  double Normal(double mean = 0, double sigma = 1) {
    const double radius = std::sqrt(-2 * std::log(1 - Uniform()));
    return mean + sigma * radius * std::cos(6.283185307179586 * Uniform());
  }
  // A factor of median 1: measurements that are wrong by so much.
  double Noise(double sigma) { return std::exp(Normal(0, sigma)); }
  double Exponential(double mean) { return -mean * std::log(1 - Uniform()); }

  template <typename T>
  void Shuffle(std::vector<T>& items) {
    for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[Below(i)]);
  }

 private:
  uint64_t state_;
};

}  // namespace headrace::orchestrate
