#include "pipeline/udf/shared_segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "common/status.h"

namespace headrace::udf {

absl::StatusOr<SharedSegment> SharedSegment::Create(const char* name, size_t bytes) {
  SharedSegment segment;
  segment.fd_ = ::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (segment.fd_ < 0) return ErrnoStatus(errno, "memfd_create");
  HR_RETURN_IF_ERROR(segment.Grow(bytes));
  if (::fcntl(segment.fd_, F_ADD_SEALS, F_SEAL_SHRINK) != 0)
    return ErrnoStatus(errno, "seal shared memory");
  return segment;
}

SharedSegment::SharedSegment(SharedSegment&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

SharedSegment& SharedSegment::operator=(SharedSegment&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

SharedSegment::~SharedSegment() {
  if (data_ != nullptr) ::munmap(data_, size_);
  if (fd_ >= 0) ::close(fd_);
}

absl::Status SharedSegment::Map(size_t bytes) {
  void* at = data_ == nullptr ? ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0)
                              : ::mremap(data_, size_, bytes, MREMAP_MAYMOVE);
  if (at == MAP_FAILED) return ErrnoStatus(errno, fmt::format("map {} bytes", bytes));
  data_ = static_cast<std::byte*>(at);
  size_ = bytes;
  return absl::OkStatus();
}

absl::Status SharedSegment::Grow(size_t bytes) {
  if (bytes <= size_) return absl::OkStatus();
  // Pages are taken now: a write that finds no memory later would be a fault.
  if (const int error = ::posix_fallocate(fd_, 0, static_cast<off_t>(bytes)); error != 0) {
    return ResourceExhausted("no {} bytes of shared memory: {}", bytes,
                             std::string(ErrnoStatus(error, "allocate").message()));
  }
  return Map(bytes);
}

absl::Status SharedSegment::Follow(size_t claimed, size_t limit) {
  if (claimed <= size_) return absl::OkStatus();
  struct stat info = {};
  if (::fstat(fd_, &info) != 0) return ErrnoStatus(errno, "look at shared memory");
  if (claimed > limit || static_cast<size_t>(info.st_size) < claimed) {
    return DataLoss("it says that {} bytes of memory are shared; there are {}, and {} may be",
                    claimed, info.st_size, limit);
  }
  return Map(claimed);
}

}  // namespace headrace::udf
