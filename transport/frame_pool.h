// Memory for received frames, kept for the next ones: fresh pages from the kernel cost as much as
// the copy into them. Owned by a connector; thread-safe. Buffers outlive the pool when somebody
// still reads them.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

namespace headrace {

class FramePool {
 public:
  // At most `keep_bytes` lie in the pool unused.
  explicit FramePool(size_t keep_bytes) : shelf_(std::make_shared<Shelf>(keep_bytes)) {}

  // 64-byte aligned, uninitialised, at least `size` bytes; back in the pool when the last holder
  // lets go. RESOURCE_EXHAUSTED when there is no memory.
  absl::StatusOr<std::shared_ptr<std::byte>> Take(size_t size);
  // Bytes that lie unused.
  size_t idle_bytes() const;

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  struct Buffer {
    std::unique_ptr<std::byte, Free> memory;
    size_t capacity = 0;
  };
  // Shared with the buffers that are out.
  struct Shelf {
    explicit Shelf(size_t keep) : keep_bytes(keep) {}
    void Put(Buffer buffer);
    // The smallest one of at least `size` and at most twice that; empty when there is none.
    Buffer Find(size_t size);

    const size_t keep_bytes;
    mutable absl::Mutex mutex;
    std::vector<Buffer> idle ABSL_GUARDED_BY(mutex);  // oldest first
    size_t idle_bytes ABSL_GUARDED_BY(mutex) = 0;
  };

  std::shared_ptr<Shelf> shelf_;
};

}  // namespace headrace
