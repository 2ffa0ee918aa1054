// Memory shared with a subprocess: an anonymous file (memfd) that may grow and can never shrink, so
// that whatever the other side does, reading it cannot fault. Owned by one thread.
#pragma once

#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace headrace::udf {

class SharedSegment {
 public:
  SharedSegment() = default;  // no memory
  static absl::StatusOr<SharedSegment> Create(const char* name, size_t bytes);
  SharedSegment(SharedSegment&& other) noexcept;
  SharedSegment& operator=(SharedSegment&& other) noexcept;
  ~SharedSegment();

  int fd() const { return fd_; }
  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  size_t size() const { return size_; }

  // At least so many bytes; data() may move, what it held stays. RESOURCE_EXHAUSTED: no memory.
  absl::Status Grow(size_t bytes);
  // Sees what the other side has added: `claimed` bytes, at most `limit`. DATA_LOSS: the file is
  // shorter.
  absl::Status Follow(size_t claimed, size_t limit);

 private:
  absl::Status Map(size_t bytes);

  int fd_ = -1;
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace headrace::udf
