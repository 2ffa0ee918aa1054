#include "pipeline/formats/writers/byte_sink.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "common/status.h"

namespace headrace {
namespace {

constexpr size_t kBufferBytes = 1 << 20;

class AtomicFile final : public ByteSink {
 public:
  AtomicFile(std::string path, std::string temporary, int fd)
      : path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd) {
    buffer_.reserve(kBufferBytes);
  }
  ~AtomicFile() override {
    if (fd_ >= 0) close(fd_);
    if (!finished_) unlink(temporary_.c_str());
  }

  absl::Status Write(std::string_view bytes) override {
    if (buffer_.size() + bytes.size() > kBufferBytes) HR_RETURN_IF_ERROR(Flush());
    if (bytes.size() >= kBufferBytes) return WriteAll(bytes);
    buffer_.append(bytes);
    return absl::OkStatus();
  }

  absl::Status Finish() override {
    HR_RETURN_IF_ERROR(Flush());
    if (fsync(fd_) != 0) return Failed("sync it to disk");
    if (close(std::exchange(fd_, -1)) != 0) return Failed("close it");
    if (rename(temporary_.c_str(), path_.c_str()) != 0)
      return Failed("rename it to its final name");
    finished_ = true;
    return SyncDirectory();
  }

 private:
  absl::Status Flush() {
    HR_RETURN_IF_ERROR(WriteAll(buffer_));
    buffer_.clear();
    return absl::OkStatus();
  }

  absl::Status WriteAll(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = write(fd_, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return Failed("write to it");
      bytes.remove_prefix(static_cast<size_t>(n));
      written_ += static_cast<uint64_t>(n);
    }
    return absl::OkStatus();
  }

  // The new name lasts once its directory is on disk.
  absl::Status SyncDirectory() const {
    const size_t slash = path_.rfind('/');
    const std::string directory = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
    const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool synced = fd >= 0 && fsync(fd) == 0;
    const int error = errno;
    if (fd >= 0) close(fd);
    // Some network file systems sync no directories.
    if (synced || error == EINVAL || error == ENOTSUP) return absl::OkStatus();
    return ErrnoStatus(error, fmt::format("{}: cannot sync its directory to disk", path_));
  }

  absl::Status Failed(std::string_view what) const {
    return ErrnoStatus(
        errno, fmt::format("{}: byte {}: cannot {} (as {}); check space and permissions", path_,
                           written_, what, temporary_));
  }

  const std::string path_;
  const std::string temporary_;
  int fd_;
  std::string buffer_;
  uint64_t written_ = 0;
  bool finished_ = false;
};

class DeflateSink final : public ByteSink {
 public:
  DeflateSink(Codec codec, std::unique_ptr<ByteSink> sink)
      : sink_(std::move(sink)), out_(kBufferBytes, '\0') {
    const int bits = codec == Codec::kGzip ? MAX_WBITS + 16 : MAX_WBITS;
    ready_ = deflateInit2(&zlib_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, bits, 8, Z_DEFAULT_STRATEGY) ==
             Z_OK;
  }
  ~DeflateSink() override {
    if (ready_) deflateEnd(&zlib_);
  }
  bool ready() const { return ready_; }

  absl::Status Write(std::string_view bytes) override {
    while (!bytes.empty()) {
      const size_t step = std::min<size_t>(bytes.size(), 1u << 30);
      zlib_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
      zlib_.avail_in = static_cast<uInt>(step);
      while (zlib_.avail_in > 0) HR_RETURN_IF_ERROR(Deflate(Z_NO_FLUSH));
      bytes.remove_prefix(step);
    }
    return absl::OkStatus();
  }

  absl::Status Finish() override {
    zlib_.avail_in = 0;
    while (!ended_) HR_RETURN_IF_ERROR(Deflate(Z_FINISH));
    return sink_->Finish();
  }

 private:
  absl::Status Deflate(int flush) {
    zlib_.next_out = reinterpret_cast<Bytef*>(out_.data());
    zlib_.avail_out = static_cast<uInt>(out_.size());
    const int result = deflate(&zlib_, flush);
    if (result == Z_STREAM_ERROR) return Internal("deflate lost its state");
    ended_ = result == Z_STREAM_END;
    return sink_->Write(std::string_view(out_).substr(0, out_.size() - zlib_.avail_out));
  }

  const std::unique_ptr<ByteSink> sink_;
  std::string out_;
  z_stream zlib_{};
  bool ready_ = false;
  bool ended_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ByteSink>> NewAtomicFile(const std::string& path) {
  const size_t slash = path.rfind('/');
  const size_t name = slash == std::string::npos ? 0 : slash + 1;
  if (name == path.size()) return InvalidArgument("'{}' names no file to write", path);
  std::string temporary =
      fmt::format("{}.{}.{}.part", path.substr(0, name), path.substr(name), getpid());
  unlink(temporary.c_str());  // left by a killed process of the same number
  const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) {
    return ErrnoStatus(
        errno,
        fmt::format("{}: cannot create {}; check that the directory exists and may be written to",
                    path, temporary));
  }
  return std::make_unique<AtomicFile>(path, std::move(temporary), fd);
}

absl::StatusOr<std::unique_ptr<ByteSink>> NewCompressingSink(Codec codec,
                                                             std::unique_ptr<ByteSink> sink) {
  if (codec != Codec::kGzip && codec != Codec::kZlib) {
    return InvalidArgument("cannot write {}; use gzip, zlib or none", Name(codec));
  }
  auto out = std::make_unique<DeflateSink>(codec, std::move(sink));
  if (!out->ready()) return ResourceExhausted("no memory for a {} encoder", Name(codec));
  return out;
}

absl::StatusOr<std::unique_ptr<ByteSink>> NewFileSink(const std::string& path, Codec codec) {
  HR_ASSIGN_OR_RETURN(std::unique_ptr<ByteSink> file, NewAtomicFile(path));
  if (codec == Codec::kNone) return file;
  return NewCompressingSink(codec, std::move(file));
}

}  // namespace headrace
