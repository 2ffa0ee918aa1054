// The files of a split that holds many (v1::FileRun), packed and unpacked one at a time.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "headrace/v1/pipeline.pb.h"
#include "pipeline/sources/file_system.h"

namespace headrace {

// Appends `file` to the files of `split`; the first one becomes its path, with begin 0 and end
// counting records.
class FileRunWriter {
 public:
  explicit FileRunWriter(v1::Split& split) : split_(split) {}
  void Add(const FileInfo& file);

 private:
  v1::Split& split_;
  FileInfo last_;
};

// Walks over the files of `split`, which must outlive it.
class FileRunReader {
 public:
  explicit FileRunReader(const v1::Split& split) : split_(split) {}
  // The next file, or false at the end. INVALID_ARGUMENT when the columns do not fit each other
  // (never from our writer).
  absl::StatusOr<bool> Next(FileInfo& file);

 private:
  const v1::Split& split_;
  FileInfo last_;
  int next_ = -1;  // -1: the split's own path
  size_t tail_ = 0;
};

// The path of the file that record `index` of a split of many files is; of any other split, its
// path.
std::string FileOfRecord(const v1::Split& split, uint64_t index);

}  // namespace headrace
