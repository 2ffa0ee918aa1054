#include "pipeline/sources/file_system.h"

#include "common/status.h"

namespace headrace {

absl::StatusOr<std::unique_ptr<RandomAccessFile>> OpenUnchanged(FileSystem& files,
                                                                const FileInfo& expected) {
  HR_ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> file, files.Open(expected.path));
  const FileInfo& now = file->info();
  if (now.size != expected.size) {
    return FailedPrecondition(
        "{}: has {} bytes now and had {} when the dataset was listed; start the job again so that "
        "it is listed anew",
        expected.path, now.size, expected.size);
  }
  if (now.mtime_ns != expected.mtime_ns) {
    return FailedPrecondition(
        "{}: was written again since the dataset was listed (modification time {} ns, was {} ns); "
        "start the job again so that it is listed anew",
        expected.path, now.mtime_ns, expected.mtime_ns);
  }
  return file;
}

}  // namespace headrace
