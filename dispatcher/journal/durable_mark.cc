#include "dispatcher/journal/durable_mark.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "common/status.h"
#include "xxhash.h"

namespace headrace {
namespace {

// Magic, position, checksum of both.
constexpr uint64_t kMagic = 0x314b52414d415248;  // "HRAMARK1"
using Words = std::array<uint64_t, 3>;

uint64_t Checksum(const Words& words) { return XXH3_64bits(words.data(), 16); }

}  // namespace

DurableMark::~DurableMark() {
  if (fd_ >= 0) ::close(fd_);
}

absl::Status DurableMark::Open(const std::string& path) {
  path_ = path;
  fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  return fd_ >= 0 ? absl::OkStatus() : ErrnoStatus(errno, "open " + path);
}

absl::StatusOr<std::optional<uint64_t>> DurableMark::Read(bool& damaged) const {
  Words words{};
  damaged = false;
  const ssize_t size = ::pread(fd_, words.data(), sizeof(words), 0);
  if (size < 0) return ErrnoStatus(errno, "read " + path_);
  if (size == 0) return std::nullopt;
  damaged = size != sizeof(words) || words[0] != kMagic || words[2] != Checksum(words);
  if (damaged) return std::nullopt;
  return words[1];
}

absl::Status DurableMark::Write(uint64_t position) {
  Words words{kMagic, position, 0};
  words[2] = Checksum(words);
  if (::pwrite(fd_, words.data(), sizeof(words), 0) != sizeof(words)) {
    return ErrnoStatus(errno, "write " + path_);
  }
  const absl::Duration now = RealClock().Steady();
  if (now - synced_ < kSyncEvery) return absl::OkStatus();
  synced_ = now;
  return ::fdatasync(fd_) == 0 ? absl::OkStatus() : ErrnoStatus(errno, "sync " + path_);
}

}  // namespace headrace
