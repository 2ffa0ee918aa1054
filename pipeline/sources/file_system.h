// Where bytes come from. One implementation per file of this folder (local now; object stores
// later), found by URI scheme. Implementations are thread-safe; handles are used by one thread at a
// time.
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

  bool operator==(const FileInfo&) const = default;
};

class RandomAccessFile {
 public:
  virtual ~RandomAccessFile() = default;
  // Reads up to out.size() bytes at `offset`; fewer only at the end of the file. Errors carry path
  // and offset.
  virtual absl::StatusOr<size_t> ReadAt(uint64_t offset, std::span<std::byte> out) = 0;
  // As it was when the file was opened.
  virtual const FileInfo& info() const = 0;
  // A hint: [begin, end) will be read front to back.
  virtual void WillReadSequentially(uint64_t /*begin*/, uint64_t /*end*/) {}
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;
  // NOT_FOUND, PERMISSION_DENIED, UNAVAILABLE: messages say the path and what to do.
  virtual absl::StatusOr<std::unique_ptr<RandomAccessFile>> Open(const std::string& path) = 0;
  // Files that match `pattern`, each once, with absolute paths, sorted by path (bytewise).
  // Patterns: * ? [abc] within a name, `**` for any depth, {a,b} and {000..099} for several
  // patterns at once; a directory stands for all files below it. Names that start with '_' or '.'
  // are ignored unless the pattern spells that first letter out. NOT_FOUND when nothing matches, or
  // one spelled out in braces is missing; what cannot be looked into is an error, never a shorter
  // list.
  virtual absl::StatusOr<std::vector<FileInfo>> List(const std::string& pattern) = 0;
  // `pattern` as the paths that List gives are spelled: absolute, without scheme.
  virtual absl::StatusOr<std::string> Absolute(const std::string& pattern) { return pattern; }
};

// Opens a file that a split was made of. FAILED_PRECONDITION when its size or modification time is
// another one than `expected` says, NOT_FOUND when it is gone: record numbers of the old file mean
// nothing in the new one.
absl::StatusOr<std::unique_ptr<RandomAccessFile>> OpenUnchanged(FileSystem& files,
                                                                const FileInfo& expected);

// Confined to `roots` (absolute directories; empty: everywhere), symbolic links resolved. Takes
// plain paths and file:// ones; relative paths start at the working directory.
std::unique_ptr<FileSystem> NewLocalFileSystem(std::vector<std::string> roots = {});

}  // namespace headrace
