#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "common/status.h"
#include "pipeline/sources/file_system.h"
#include "pipeline/sources/local_listing.h"

namespace headrace {
namespace {

constexpr size_t kMaxOneRead = 1 << 30;  // bytes; Linux moves at most 2 GiB a call

class OwnedFd {
 public:
  explicit OwnedFd(int fd) : fd_(fd) {}
  OwnedFd(OwnedFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  OwnedFd& operator=(OwnedFd&&) = delete;
  ~OwnedFd() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

class LocalFile final : public RandomAccessFile {
 public:
  LocalFile(OwnedFd fd, FileInfo info) : fd_(std::move(fd)), info_(std::move(info)) {}

  absl::StatusOr<size_t> ReadAt(uint64_t offset, std::span<std::byte> out) override {
    size_t done = 0;
    while (done < out.size()) {
      const ssize_t n =
          pread(fd_.get(), out.data() + done, std::min(out.size() - done, kMaxOneRead),
                static_cast<off_t>(offset + done));
      if (n == 0) break;
      if (n < 0) {
        if (errno == EINTR) continue;
        return LocalError(errno, info_.path,
                          fmt::format("cannot read it at byte {}", offset + done));
      }
      done += static_cast<size_t>(n);
    }
    return done;
  }
  const FileInfo& info() const override { return info_; }
  void WillReadSequentially(uint64_t begin, uint64_t end) override {
    // Doubles the kernel's read-ahead. A hint: its failure changes nothing.
    (void)posix_fadvise(fd_.get(), static_cast<off_t>(begin), static_cast<off_t>(end - begin),
                        POSIX_FADV_SEQUENTIAL);
  }

 private:
  const OwnedFd fd_;
  const FileInfo info_;
};

class LocalFileSystem final : public FileSystem {
 public:
  explicit LocalFileSystem(std::vector<std::string> roots) : roots_(std::move(roots)) {}

  absl::StatusOr<std::unique_ptr<RandomAccessFile>> Open(const std::string& path) override {
    HR_ASSIGN_OR_RETURN(std::string absolute, AbsoluteLocalPath(path));
    // O_NONBLOCK: opening a pipe must not wait for its writer.
    OwnedFd fd(open(absolute.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (fd.get() < 0) return LocalError(errno, absolute, "cannot open it");
    struct stat st;
    if (fstat(fd.get(), &st) != 0) return LocalError(errno, absolute, "cannot look at it");
    if (!S_ISREG(st.st_mode)) return InvalidArgument("{}: is not a file", absolute);
    HR_RETURN_IF_ERROR(CheckConfined(fd.get(), absolute));
    FileInfo info{std::move(absolute), static_cast<uint64_t>(st.st_size), MtimeNs(st)};
    return std::make_unique<LocalFile>(std::move(fd), std::move(info));
  }

  absl::StatusOr<std::vector<FileInfo>> List(const std::string& pattern) override {
    return ListLocal(roots_, pattern);
  }
  absl::StatusOr<std::string> Absolute(const std::string& pattern) override {
    return AbsoluteLocalPath(pattern);
  }

 private:
  // Asks the kernel what was really opened: a check of the path before opening could be raced by a
  // changed link.
  absl::Status CheckConfined(int fd, const std::string& path) const {
    if (roots_.unlimited()) return absl::OkStatus();
    char real[PATH_MAX];
    const ssize_t n = readlink(fmt::format("/proc/self/fd/{}", fd).c_str(), real, sizeof(real));
    if (n < 0 || n == static_cast<ssize_t>(sizeof(real))) {
      return PermissionDenied(
          "{}: /proc does not tell where it lies, so it cannot be confined to the file roots",
          path);
    }
    return roots_.CheckReal(path, std::string_view(real, static_cast<size_t>(n)));
  }

  const LocalRoots roots_;
};

}  // namespace

std::unique_ptr<FileSystem> NewLocalFileSystem(std::vector<std::string> roots) {
  return std::make_unique<LocalFileSystem>(std::move(roots));
}

}  // namespace headrace
