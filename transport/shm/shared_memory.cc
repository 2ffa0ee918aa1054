#include "transport/shm/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdint>

#include "common/status.h"

namespace headrace {

absl::StatusOr<OwnMemory> MakeSharedMemory(size_t bytes) {
  OwnMemory made;
  made.memory = FileDescriptor(::memfd_create("headrace", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!made.memory.valid() || ::ftruncate(made.memory.get(), static_cast<off_t>(bytes)) != 0) {
    return ResourceExhausted("no shared memory of {} bytes: {}", bytes,
                             std::string(ErrnoStatus(errno, "memfd").message()));
  }
  void* base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, made.memory.get(), 0);
  if (base == MAP_FAILED) return ResourceExhausted("cannot map {} bytes of shared memory", bytes);
  made.base = static_cast<std::byte*>(base);
  // An old kernel has no F_SEAL_FUTURE_WRITE: clients of ours map for reading all the same.
  const int fd = made.memory.get();
  if (::fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
    const int error = errno;
    Unmap(made.base, bytes);
    return ErrnoStatus(error, "seal shared memory");
  }
  (void)::fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE);
  (void)::fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL);
  return made;
}

void Unmap(const std::byte* base, size_t bytes) { ::munmap(const_cast<std::byte*>(base), bytes); }

absl::StatusOr<std::shared_ptr<const MappedMemory>> MappedMemory::Map(const FileDescriptor& memory,
                                                                      size_t bytes) {
  const int seals = ::fcntl(memory.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
    return FailedPrecondition("shared memory that is not sealed against shrinking is not mapped");
  }
  struct stat status = {};
  if (::fstat(memory.get(), &status) != 0) return ErrnoStatus(errno, "stat shared memory");
  if (bytes == 0 || bytes > static_cast<uint64_t>(status.st_size)) {
    return FailedPrecondition("shared memory of {} bytes was promised, it has {}", bytes,
                              static_cast<int64_t>(status.st_size));
  }
  void* base = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, memory.get(), 0);
  if (base == MAP_FAILED) return ResourceExhausted("cannot map {} bytes of shared memory", bytes);
  return std::make_shared<const MappedMemory>(static_cast<const std::byte*>(base), bytes);
}

}  // namespace headrace
