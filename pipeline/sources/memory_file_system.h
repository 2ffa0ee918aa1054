// Files that live in memory, for tests and fuzzing; no binary links this. Reads can be made to
// fail.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/synchronization/mutex.h"
#include "pipeline/sources/file_system.h"

namespace headrace {

class MemoryFileSystem final : public FileSystem {
 public:
  // `path` is absolute. Replaces what was there; the modification time is a count of writes.
  void Put(const std::string& path, std::string_view bytes);
  void Remove(const std::string& path);
  // From now on Open and List of `path` give `status` (OK: work again).
  void Refuse(const std::string& path, absl::Status status);
  // Reads that touch byte `offset` or a later one give `status`.
  void FailReads(const std::string& path, uint64_t offset, absl::Status status);
  FileInfo Info(const std::string& path) const;
  // Bytes handed out by ReadAt so far: shows what a reader really touched.
  uint64_t bytes_read() const;

  absl::StatusOr<std::unique_ptr<RandomAccessFile>> Open(const std::string& path) override;
  absl::StatusOr<std::vector<FileInfo>> List(const std::string& pattern) override;

 private:
  struct Content {
    std::string bytes;
    FileInfo info;
    absl::Status refusal;
    uint64_t fail_from = UINT64_MAX;
    absl::Status failure;
  };
  class File;

  mutable absl::Mutex mutex_;
  std::map<std::string, std::shared_ptr<const Content>> files_ ABSL_GUARDED_BY(mutex_);
  int64_t writes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t bytes_read_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace headrace
