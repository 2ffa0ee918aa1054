#include "dispatcher/journal/wal_tail.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "common/status.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBlock = 32768;
constexpr size_t kHeader = 7;
constexpr size_t kLogNumber = 4;  // in headers of kinds 5 to 8
enum Kind : uint8_t { kZero = 0, kFull = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

// The highest numbered *.log; empty when there is none.
absl::StatusOr<fs::path> YoungestLog(const std::string& directory) {
  fs::path youngest;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const fs::path path = it->path();
    if (path.extension() != ".log") continue;
    const auto longer = [](const fs::path& p) {
      return std::pair(p.filename().string().size(), p.filename().string());
    };
    if (youngest.empty() || longer(youngest) < longer(path)) youngest = path;
  }
  if (error && error.value() != ENOENT) return ErrnoStatus(error.value(), "list " + directory);
  return youngest;
}

// Walks over the pieces of one block; false: a piece is not whole, or nothing follows.
class Walk {
 public:
  bool Block(const char* data, size_t size, uint64_t at) {
    size_t used = 0;
    while (size - used >= kHeader) {
      const auto* header = reinterpret_cast<const uint8_t*>(data + used);
      const size_t length = header[4] | static_cast<size_t>(header[5]) << 8;
      const uint8_t kind = header[6];
      if (kind == kZero && length == 0) return false;  // never written
      const bool numbered = kind > kLast;
      const size_t whole = kHeader + (numbered ? kLogNumber : 0) + length;
      if (whole > size - used) return false;
      used += whole;
      const uint8_t plain = numbered ? kind - kLast : kind;
      if (plain == kFull || plain == kLast) end_ = at + used;
    }
    // What is too little for a header is filled up with zeros, where more follows.
    return size == kBlock;
  }
  uint64_t end() const { return end_; }

 private:
  uint64_t end_ = 0;  // of the last whole record
};

}  // namespace

absl::StatusOr<std::optional<TornTail>> FindTornTail(const std::string& directory) {
  HR_ASSIGN_OR_RETURN(const fs::path path, YoungestLog(directory));
  if (path.empty()) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  if (!file) return ErrnoStatus(errno, "open " + path.string());
  Walk walk;
  std::array<char, kBlock> block;
  uint64_t at = 0;
  uint64_t last_byte = 0;  // behind the last one that is not zero
  bool more = true;
  while (true) {
    file.read(block.data(), block.size());
    const auto size = static_cast<size_t>(file.gcount());
    if (size == 0) break;
    for (size_t i = size; i > 0; --i) {
      if (block[i - 1] == 0) continue;
      last_byte = at + i;
      break;
    }
    if (more) more = walk.Block(block.data(), size, at);
    at += size;
  }
  // A record may end with zeros; a file may end with zeros that stand for nothing.
  if (last_byte <= walk.end()) return std::nullopt;
  return TornTail{path.string(), walk.end(), at - walk.end()};
}

}  // namespace headrace
