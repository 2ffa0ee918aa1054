// How many rows a block should have so that it takes a chain a given time: long enough to pay for
// its hand-overs, short enough to share a core fairly. Where steps wait instead of computing, a
// block may take a few times as long, and no longer: what is inside a chain cannot be given to
// others. Thread-safe.
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

  // Time that passes per row, with what steps wait. 0: not known yet.
  double elapsed_per_row() const {
    return std::max(0.0, elapsed_nanos_.load(std::memory_order_relaxed));
  }

  // A block of `rows` rows took so much CPU time and so much time.
  void Measured(size_t rows, uint64_t cpu_nanos, uint64_t elapsed_nanos) {
    if (rows == 0) return;
    Average(elapsed_nanos_, static_cast<double>(elapsed_nanos) / static_cast<double>(rows));
    const double cost =
        std::max(static_cast<double>(cpu_nanos), static_cast<double>(elapsed_nanos) / kMostWaiting);
    const double now = Average(per_row_nanos_, cost / static_cast<double>(rows));
    const double wanted = static_cast<double>(target_nanos_) / std::max(now, 0.001);
    const double growth = static_cast<double>(this->rows()) * kMaxGrowth;
    const double next = std::clamp(std::min(wanted, growth), 1.0, static_cast<double>(max_rows_));
    rows_.store(static_cast<size_t>(next), std::memory_order_relaxed);
  }

 private:
  static double Average(std::atomic<double>& average, double newest) {
    // Racing updates lose a measurement, which does no harm.
    const double before = average.load(std::memory_order_relaxed);
    const double now = before < 0 ? newest : before + kWeight * (newest - before);
    average.store(now, std::memory_order_relaxed);
    return now;
  }

  // How many times the target a block may take, waiting included. Well above what a thread that
  // shares its core takes for computing.
  static constexpr double kMostWaiting = 8;
  static constexpr double kWeight = 0.25;    // of the newest measurement
  static constexpr double kMaxGrowth = 4.0;  // per measurement: the first rows may be cheap ones
  static constexpr size_t kFirstRows = 8;

  const uint64_t target_nanos_;
  const size_t max_rows_;
  std::atomic<size_t> rows_{std::min(kFirstRows, max_rows_)};
  std::atomic<double> per_row_nanos_{-1};
  std::atomic<double> elapsed_nanos_{-1};  // per row
};

}  // namespace headrace
