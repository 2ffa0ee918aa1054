// How NewLocalFileSystem finds files: walks directories against a pattern. Private to this folder.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/sources/file_system.h"

namespace headrace {

// The directories that paths must lie in once their links are resolved; empty: anywhere. Immutable.
class LocalRoots {
 public:
  explicit LocalRoots(std::vector<std::string> roots);
  bool unlimited() const { return roots_.empty(); }
  // `real` is `path` without links. PERMISSION_DENIED that names the allowed directories.
  absl::Status CheckReal(std::string_view path, std::string_view real) const;
  // Resolves `path`'s links first.
  absl::Status Check(const std::string& path) const;

 private:
  std::vector<std::string> roots_;
};

// The absolute plain path that `path` (relative, file://...) means. INVALID_ARGUMENT for other
// schemes.
absl::StatusOr<std::string> AbsoluteLocalPath(std::string_view path);

inline int64_t MtimeNs(const struct stat& st) {
  return static_cast<int64_t>(st.st_mtim.tv_sec) * 1'000'000'000 + st.st_mtim.tv_nsec;
}

// See FileSystem::List.
absl::StatusOr<std::vector<FileInfo>> ListLocal(const LocalRoots& roots,
                                                const std::string& pattern);

// The error of a system call on `path`, with what to do about it. `action`: "cannot open it".
absl::Status LocalError(int error_number, std::string_view path, std::string_view action);

}  // namespace headrace
