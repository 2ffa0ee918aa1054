// A place for caches, as the policies see it, and how long a read from it takes: T(b) = alpha + b /
// beta, fitted online to what was measured. One thread, no clock.
#pragma once

#include <cstddef>
#include <string>

namespace headrace::orchestrate {

// Least squares of seconds over bytes, held to alpha >= 0 and beta > 0, old samples fading. A table
// of fixed points can be negative between or beside its points; this cannot.
class TransferFit {
 public:
  // `memory`: how many samples count.
  explicit TransferFit(double memory = 200) : fade_(1 - 1 / memory) {}
  // Samples that are not positive numbers are left out.
  void Add(double bytes, double seconds);
  double alpha() const;  // seconds of a read of nothing
  double beta() const;   // bytes/s of a long one; 0 before the first sample
  double Seconds(double bytes) const { return alpha() + (beta() > 0 ? bytes / beta() : 0); }
  double samples() const { return weight_; }

 private:
  struct Line {
    double alpha = 0, slope = 0;
  };
  Line Fit() const;
  // Sums are weighted by 1 / seconds^2, so that small reads count as much as large ones.
  double fade_, weight_ = 0;
  double w_ = 0, wb_ = 0, wbb_ = 0, wt_ = 0, wbt_ = 0;
};

enum class TierKind { kMemory, kDisk, kShared };

// What is left of it after other tenants.
struct TierProfile {
  std::string name;  // "memory", "disk", "store"
  TierKind kind = TierKind::kMemory;
  double read_bytes_per_second = 0;  // R_j of all workers together; per worker where per_worker
  double write_bytes_per_second = 0;
  double bandwidth_error = 0;  // relative standard error
  bool per_worker = false;     // bandwidth grows with the workers
  bool over_network = false;   // its bytes go through the worker's network card
  double capacity_bytes = 0;
  double price_per_byte_second = 0;
  double codec_seconds_per_byte = 0;  // CPU to decode what is read from it
  double read_cpu_seconds = 0;        // CPU per row read: alpha of its fit
};

}  // namespace headrace::orchestrate
