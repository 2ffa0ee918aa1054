// How long to wait before the next try: exponential, with jitter, so that those who failed together
// do not come back together. A plain value without a lock; kept by whoever tries. The same seed
// gives the same waits.
#pragma once

#include <algorithm>
#include <cstdint>

#include "absl/time/time.h"

namespace headrace {

struct BackoffPolicy {
  absl::Duration initial = absl::Milliseconds(50);
  absl::Duration max = absl::Seconds(5);
  double multiplier = 2.0;
  double jitter = 0.5;  // each wait is drawn from [1 - jitter, 1] of its full length
};

class Backoff {
 public:
  Backoff(const BackoffPolicy& policy, uint64_t seed)
      : policy_(policy), next_(policy.initial), state_(seed) {}

  absl::Duration Next() {
    const absl::Duration full = std::min(next_, policy_.max);
    next_ = std::min(full * policy_.multiplier, policy_.max);
    return full * (1.0 - policy_.jitter * Uniform());
  }

  // After a success: the next wait is the initial one again.
  void Reset() { next_ = policy_.initial; }

 private:
  // SplitMix64 (Steele, Lea, Flood 2014), in [0, 1).
  double Uniform() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1.0p-53;
  }

  BackoffPolicy policy_;
  absl::Duration next_;
  uint64_t state_;
};

}  // namespace headrace
