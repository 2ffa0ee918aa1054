#include "pipeline/formats/reading/file_run.h"

#include <algorithm>

#include "common/status.h"

namespace headrace {

void FileRunWriter::Add(const FileInfo& file) {
  split_.set_end(split_.end() + 1);
  if (split_.path().empty()) {
    split_.set_path(file.path);
    split_.set_file_size(file.size);
    split_.set_file_mtime_ns(file.mtime_ns);
  } else {
    const auto [differs, unused] =
        std::mismatch(last_.path.begin(), last_.path.end(), file.path.begin(), file.path.end());
    const auto keep = static_cast<size_t>(differs - last_.path.begin());
    v1::FileRun& run = *split_.mutable_more_files();
    run.add_keep(static_cast<uint32_t>(keep));
    run.mutable_tails()->append(file.path, keep);
    run.add_tail_length(static_cast<uint32_t>(file.path.size() - keep));
    run.add_size(file.size);
    // Unsigned: a difference of made-up times must not overflow.
    run.add_mtime_step_ns(static_cast<int64_t>(static_cast<uint64_t>(file.mtime_ns) -
                                               static_cast<uint64_t>(last_.mtime_ns)));
  }
  last_ = file;
}

absl::StatusOr<bool> FileRunReader::Next(FileInfo& file) {
  const v1::FileRun& run = split_.more_files();
  if (next_ < 0) {
    last_ = {split_.path(), split_.file_size(), split_.file_mtime_ns()};
  } else {
    if (next_ >= run.keep_size()) return false;
    const size_t tail = next_ < run.tail_length_size() ? run.tail_length(next_) : 0;
    if (next_ >= run.tail_length_size() || next_ >= run.size_size() ||
        next_ >= run.mtime_step_ns_size() || run.keep(next_) > last_.path.size() ||
        tail > run.tails().size() - tail_) {
      return InvalidArgument("split {}: its list of files is damaged at file {}", split_.id(),
                             next_ + 1);
    }
    last_.path.resize(run.keep(next_));
    last_.path.append(run.tails(), tail_, tail);
    tail_ += tail;
    last_.size = run.size(next_);
    last_.mtime_ns = static_cast<int64_t>(static_cast<uint64_t>(last_.mtime_ns) +
                                          static_cast<uint64_t>(run.mtime_step_ns(next_)));
  }
  ++next_;
  file = last_;
  return true;
}

std::string FileOfRecord(const v1::Split& split, uint64_t index) {
  if (!split.has_more_files()) return split.path();
  FileRunReader files(split);
  FileInfo file;
  for (uint64_t i = 0; i <= index; ++i) {
    const absl::StatusOr<bool> more = files.Next(file);
    if (!more.ok() || !*more) return split.path();
  }
  return file.path;
}

}  // namespace headrace
