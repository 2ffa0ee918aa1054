// Where bytes come from. One implementation per file of this folder (local now; object stores later), found by URI
// scheme. Implementations are thread-safe; handles are used by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace headrace {

struct FileInfo {
  std::string path;
  uint64_t size = 0;
  int64_t mtime_ns = 0;
};

class RandomAccessFile {
 public:
  virtual ~RandomAccessFile() = default;
  // Reads up to out.size() bytes at `offset`; fewer only at the end of the file. Errors carry path and offset.
  virtual absl::StatusOr<size_t> ReadAt(uint64_t offset, std::span<std::byte> out) = 0;
  virtual const FileInfo& info() const = 0;
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;
  // NOT_FOUND, PERMISSION_DENIED, UNAVAILABLE: messages say the path and what to do.
  virtual absl::StatusOr<std::unique_ptr<RandomAccessFile>> Open(const std::string& path) = 0;
  // Files that match `pattern` (a glob, `**` for any depth; a directory stands for all files below it), sorted by path.
  // Names that start with '_' or '.' are ignored. NOT_FOUND when nothing matches.
  virtual absl::StatusOr<std::vector<FileInfo>> List(const std::string& pattern) = 0;
};

// Confined to `roots` (absolute directories; empty: everywhere).
std::unique_ptr<FileSystem> NewLocalFileSystem(std::vector<std::string> roots = {});

}  // namespace headrace
