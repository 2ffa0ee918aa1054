// How many rows a block should have so that it takes a chain a given time: long enough to pay for
// its hand-overs, short enough to share a core fairly. Thread-safe.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace headrace {

class BlockSizer {
 public:
  BlockSizer(uint64_t target_nanos, size_t max_rows)
      : target_nanos_(std::max<uint64_t>(target_nanos, 1)),
        max_rows_(std::max<size_t>(max_rows, 1)) {}

  size_t rows() const { return rows_.load(std::memory_order_relaxed); }

  // A block of `rows` rows took `nanos` of CPU time.
  void Measured(size_t rows, uint64_t nanos) {
    if (rows == 0) return;
    const double per_row = static_cast<double>(nanos) / static_cast<double>(rows);
    // Racing updates lose a measurement, which does no harm.
    const double before = per_row_nanos_.load(std::memory_order_relaxed);
    const double now = before < 0 ? per_row : before + kWeight * (per_row - before);
    per_row_nanos_.store(now, std::memory_order_relaxed);
    const double wanted = static_cast<double>(target_nanos_) / std::max(now, 0.001);
    const double growth = static_cast<double>(this->rows()) * kMaxGrowth;
    const double next = std::clamp(std::min(wanted, growth), 1.0, static_cast<double>(max_rows_));
    rows_.store(static_cast<size_t>(next), std::memory_order_relaxed);
  }

 private:
  static constexpr double kWeight = 0.25;    // of the newest measurement
  static constexpr double kMaxGrowth = 4.0;  // per measurement: the first rows may be cheap ones
  static constexpr size_t kFirstRows = 8;

  const uint64_t target_nanos_;
  const size_t max_rows_;
  std::atomic<size_t> rows_{std::min(kFirstRows, max_rows_)};
  std::atomic<double> per_row_nanos_{-1};
};

}  // namespace headrace
