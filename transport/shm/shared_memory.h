// memfd segments and their seals: what both sides of the shm transport map.
#pragma once

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "transport/shm/file_descriptor.h"

namespace headrace {

// A new segment of zeros, mapped for writing, sealed: its size is fixed, and who gets the
// descriptor can map it for reading only. RESOURCE_EXHAUSTED when there is no memory or descriptor.
struct OwnMemory {
  FileDescriptor memory;
  std::byte* base = nullptr;  // the caller unmaps
};
absl::StatusOr<OwnMemory> MakeSharedMemory(size_t bytes);
void Unmap(const std::byte* base, size_t bytes);

// A segment of somebody else's, mapped for reading while it is held.
class MappedMemory {
 public:
  // FAILED_PRECONDITION when the segment is not sealed against shrinking or is smaller than
  // `bytes`: reading it could kill this process.
  static absl::StatusOr<std::shared_ptr<const MappedMemory>> Map(const FileDescriptor& memory,
                                                                 size_t bytes);
  MappedMemory(const std::byte* base, size_t bytes) : base_(base), bytes_(bytes) {}
  MappedMemory(const MappedMemory&) = delete;
  MappedMemory& operator=(const MappedMemory&) = delete;
  ~MappedMemory() { Unmap(base_, bytes_); }

  const std::byte* data() const { return base_; }
  size_t bytes() const { return bytes_; }

 private:
  const std::byte* const base_;
  const size_t bytes_;
};

}  // namespace headrace
