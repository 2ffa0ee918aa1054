#include "cache/segment_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "cache/segment_format.h"
#include "common/fault_points.h"
#include "common/status.h"

namespace headrace {
namespace {

absl::Status IoStatus(int error, std::string_view what, const std::string& path) {
  if (error == ENOSPC || error == EDQUOT) {
    return ResourceExhausted("{} {}: the file system is full", what, path);
  }
  return ErrnoStatus(error, fmt::format("{} {}", what, path));
}

}  // namespace

AlignedMemory AllocateAligned(size_t bytes) {
  return AlignedMemory(
      static_cast<std::byte*>(std::aligned_alloc(kSegmentAlignment, SegmentRound(bytes))));
}

absl::StatusOr<std::unique_ptr<SegmentFile>> SegmentFile::OpenWith(const std::string& path,
                                                                   int flags, bool direct) {
  int fd = ::open(path.c_str(), flags | O_CLOEXEC | (direct ? O_DIRECT : 0), 0644);
  if (fd < 0 && direct && errno == EINVAL) {
    // O_CREAT may have made the file before O_DIRECT was refused.
    if ((flags & O_EXCL) != 0) ::unlink(path.c_str());
    direct = false;
    fd = ::open(path.c_str(), flags | O_CLOEXEC, 0644);
  }
  if (fd < 0) return IoStatus(errno, "open", path);
  struct stat info = {};
  if (::fstat(fd, &info) != 0) {
    const int error = errno;
    ::close(fd);
    return IoStatus(error, "stat", path);
  }
  return std::unique_ptr<SegmentFile>(
      new SegmentFile(fd, direct, static_cast<uint64_t>(info.st_size), path));
}

absl::StatusOr<std::unique_ptr<SegmentFile>> SegmentFile::Create(const std::string& path,
                                                                 bool direct) {
  HR_RETURN_IF_ERROR(FaultPoint("cache.segment.create"));
  return OpenWith(path, O_RDWR | O_CREAT | O_EXCL, direct);
}

absl::StatusOr<std::unique_ptr<SegmentFile>> SegmentFile::Open(const std::string& path,
                                                               bool direct) {
  return OpenWith(path, O_RDONLY, direct);
}

SegmentFile::~SegmentFile() {
  if (!direct_) ::posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED);
  ::close(fd_);
}

absl::Status SegmentFile::WriteAt(uint64_t offset, std::span<const std::byte> bytes) {
  HR_RETURN_IF_ERROR(FaultPoint("cache.segment.write"));
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return IoStatus(errno, "write", path_);
    // What a full file system takes of a direct write need not be a multiple of the alignment.
    if (n == 0 || (direct_ && n % static_cast<ssize_t>(kSegmentAlignment) != 0))
      return IoStatus(ENOSPC, "write", path_);
    offset += static_cast<uint64_t>(n);
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

absl::Status SegmentFile::ReadAt(uint64_t offset, std::span<std::byte> out) {
  HR_RETURN_IF_ERROR(FaultPoint("cache.segment.read"));
  while (!out.empty()) {
    const ssize_t n = ::pread(fd_, out.data(), out.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return IoStatus(errno, "read", path_);
    const bool whole = static_cast<size_t>(n) == out.size();
    if (n == 0 || (direct_ && !whole && n % static_cast<ssize_t>(kSegmentAlignment) != 0)) {
      return OutOfRange("read {}: ends before offset {}", path_, offset + out.size());
    }
    offset += static_cast<uint64_t>(n);
    out = out.subspan(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

absl::Status SegmentFile::Sync() {
  HR_RETURN_IF_ERROR(FaultPoint("cache.segment.sync"));
  return ::fdatasync(fd_) == 0 ? absl::OkStatus() : IoStatus(errno, "fdatasync", path_);
}

}  // namespace headrace
