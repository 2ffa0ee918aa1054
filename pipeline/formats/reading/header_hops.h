// Reads small headers that lie far apart, or close together, with few reads: how splits of framed
// files are found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/sources/file_system.h"

namespace headrace {

// Offsets asked for only grow. Used by one thread.
class HeaderHops {
 public:
  explicit HeaderHops(RandomAccessFile& file);
  // `bytes` bytes at `offset`, fewer at the end of the file; good until the next call.
  absl::StatusOr<std::span<const std::byte>> At(uint64_t offset, size_t bytes);

 private:
  RandomAccessFile& file_;
  std::vector<std::byte> buffer_;
  uint64_t begin_ = 0;  // file offset of the buffer
  size_t filled_ = 0;
};

}  // namespace headrace
