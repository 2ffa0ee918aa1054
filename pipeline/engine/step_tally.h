// What a step has cost and moved since the task's start. Added to once per block, from any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "headrace/v1/dispatcher.pb.h"

namespace headrace {

struct StepTally {
  std::atomic<uint64_t> cpu_nanos{0};
  std::atomic<uint64_t> rows_in{0};
  std::atomic<uint64_t> rows_out{0};
  std::atomic<uint64_t> bytes_in{0};
  std::atomic<uint64_t> bytes_out{0};
  std::atomic<uint64_t> failed{0};
  std::atomic<uint64_t> blocks{0};
  std::atomic<double> cpu_square{0};  // the sum of (seconds)^2 / rows over blocks
  std::atomic<uint64_t> wall_nanos{0};

  void In(uint64_t rows, uint64_t bytes) {
    rows_in.fetch_add(rows, std::memory_order_relaxed);
    bytes_in.fetch_add(bytes, std::memory_order_relaxed);
  }
  void Out(uint64_t rows, uint64_t bytes) {
    rows_out.fetch_add(rows, std::memory_order_relaxed);
    bytes_out.fetch_add(bytes, std::memory_order_relaxed);
  }
  // Spent on a block of `rows`; 0: on none.
  void Cpu(uint64_t nanos, size_t rows) {
    cpu_nanos.fetch_add(nanos, std::memory_order_relaxed);
    if (rows == 0) return;
    const double seconds = static_cast<double>(nanos) * 1e-9;
    blocks.fetch_add(1, std::memory_order_relaxed);
    cpu_square.fetch_add(seconds * seconds / static_cast<double>(rows), std::memory_order_relaxed);
  }
  void Wall(uint64_t nanos) { wall_nanos.fetch_add(nanos, std::memory_order_relaxed); }

  void Fill(const std::string& step, v1::StepStats& out) const {
    out.set_step(step);
    out.set_cpu_seconds(static_cast<double>(cpu_nanos.load(std::memory_order_relaxed)) * 1e-9);
    out.set_rows_in(rows_in.load(std::memory_order_relaxed));
    out.set_rows_out(rows_out.load(std::memory_order_relaxed));
    out.set_bytes_in(bytes_in.load(std::memory_order_relaxed));
    out.set_bytes_out(bytes_out.load(std::memory_order_relaxed));
    out.set_failed(failed.load(std::memory_order_relaxed));
    out.set_blocks(blocks.load(std::memory_order_relaxed));
    out.set_cpu_square(cpu_square.load(std::memory_order_relaxed));
    out.set_wall_seconds(static_cast<double>(wall_nanos.load(std::memory_order_relaxed)) * 1e-9);
  }
};

}  // namespace headrace
