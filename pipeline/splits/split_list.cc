#include "pipeline/splits/split_list.h"

#include <algorithm>
#include <limits>

#include "common/status.h"

namespace headrace {
namespace {

// Modulo 2^64, so that no two times are too far apart and no foreign step overflows.
int64_t Step(int64_t from, int64_t to) {
  return static_cast<int64_t>(static_cast<uint64_t>(to) - static_cast<uint64_t>(from));
}
int64_t After(int64_t from, int64_t step) {
  return static_cast<int64_t>(static_cast<uint64_t>(from) + static_cast<uint64_t>(step));
}

// What one split takes in a piece: small numbers mostly.
constexpr size_t kSplitBytes = 8;
constexpr size_t kFileBytes = 24;

absl::Status Unfit(const v1::SplitColumns& piece, std::string_view column) {
  return InvalidArgument("splits from {} on: the column {} does not fit the others", piece.first(),
                         column);
}

}  // namespace

void SplitList::AddFile(std::string_view path, uint64_t size, int64_t mtime_ns,
                        uint32_t root_length) {
  paths_.Add(path);
  file_size_.push_back(size);
  file_mtime_ns_.push_back(mtime_ns);
  root_length_.push_back(root_length);
}

void SplitList::AddRange(uint64_t file_index, uint64_t begin, uint64_t end) {
  file_.push_back(static_cast<uint32_t>(paths_.size() - 1));
  file_index_.push_back(static_cast<uint32_t>(file_index));
  begin_.push_back(begin);
  end_.push_back(end);
  files_ = std::max(files_, file_index + 1);
}

void SplitList::Add(const v1::Split& split) {
  const bool same =
      !empty() && split.path() == paths_.back() && split.file_size() == file_size_.back() &&
      split.file_mtime_ns() == file_mtime_ns_.back() && split.root_length() == root_length_.back();
  if (!same) {
    AddFile(split.path(), split.file_size(), split.file_mtime_ns(), split.root_length());
  }
  if (split.has_more_files()) more_files_.emplace_back(size(), split.more_files());
  AddRange(split.file_index(), split.begin(), split.end());
}

const v1::FileRun* SplitList::MoreFiles(size_t index) const {
  const auto it = std::ranges::lower_bound(more_files_, index, {},
                                           [](const auto& entry) { return entry.first; });
  return it == more_files_.end() || it->first != index ? nullptr : &it->second;
}

v1::Split SplitList::operator[](size_t index) const {
  v1::Split split;
  const uint32_t file = file_[index];
  split.set_id(index);
  split.set_path(paths_.At(file));
  split.set_begin(begin_[index]);
  split.set_end(end_[index]);
  split.set_file_size(file_size_[file]);
  split.set_file_mtime_ns(file_mtime_ns_[file]);
  split.set_file_index(file_index_[index]);
  split.set_root_length(root_length_[file]);
  if (const v1::FileRun* more = MoreFiles(index)) *split.mutable_more_files() = *more;
  return split;
}

uint64_t SplitList::data_bytes() const {
  uint64_t bytes = 0;
  for (size_t i = 0; i < begin_.size(); ++i) bytes += end_[i] - begin_[i];
  for (const auto& [position, files] : more_files_) {
    for (const uint64_t size : files.size()) bytes += size;
  }
  return bytes;
}

size_t SplitList::bytes() const {
  size_t bytes = paths_.bytes() + 24 * file_.capacity() + 20 * file_size_.capacity();
  for (const auto& [index, run] : more_files_) bytes += run.SpaceUsedLong();
  return bytes;
}

size_t SplitList::Encode(size_t first, v1::SplitColumns& piece) const {
  piece.set_first(first);
  std::string path;
  int64_t mtime_ns = 0;
  size_t bytes = 0;
  size_t i = first;
  for (; i < size() && bytes < kPieceBytes; ++i) {
    const bool new_file = i == 0 || file_[i] != file_[i - 1];
    if (new_file) {
      const uint32_t file = file_[i];
      const std::string next = paths_.At(file);
      const size_t keep = SharedPrefix(path, next);
      piece.add_path_keep(static_cast<uint32_t>(keep));
      piece.mutable_path_tails()->append(next, keep);
      piece.add_path_tail_length(static_cast<uint32_t>(next.size() - keep));
      piece.add_file_size(file_size_[file]);
      piece.add_file_mtime_step_ns(Step(mtime_ns, file_mtime_ns_[file]));
      piece.add_root_length(root_length_[file]);
      bytes += kFileBytes + next.size() - keep;
      path = next;
      mtime_ns = file_mtime_ns_[file];
    }
    piece.add_new_file(new_file ? 1 : 0);
    piece.add_file_index_step(int64_t{file_index_[i]} - (i == 0 ? 0 : file_index_[i - 1]));
    piece.add_begin_step(static_cast<int64_t>(begin_[i] - (new_file ? 0 : end_[i - 1])));
    piece.add_length(end_[i] - begin_[i]);
    bytes += kSplitBytes;
    if (const v1::FileRun* more = MoreFiles(i)) {
      piece.add_more_of(i);
      *piece.add_more_files() = *more;
      bytes += more->ByteSizeLong();
    }
  }
  return i;
}

absl::Status SplitList::DecodeFiles(const v1::SplitColumns& piece) {
  const int files = piece.path_keep_size();
  if (piece.path_tail_length_size() != files || piece.file_size_size() != files ||
      piece.file_mtime_step_ns_size() != files || piece.root_length_size() != files) {
    return Unfit(piece, "of files");
  }
  std::string path;
  size_t at = 0;
  int64_t mtime_ns = 0;
  for (int i = 0; i < files; ++i) {
    const size_t tail = piece.path_tail_length(i);
    if (piece.path_keep(i) > path.size() || tail > piece.path_tails().size() - at) {
      return Unfit(piece, "path_tails");
    }
    path.resize(piece.path_keep(i));
    path.append(piece.path_tails(), at, tail);
    at += tail;
    mtime_ns = After(mtime_ns, piece.file_mtime_step_ns(i));
    AddFile(path, piece.file_size(i), mtime_ns, piece.root_length(i));
  }
  return absl::OkStatus();
}

absl::Status SplitList::DecodeSplits(const v1::SplitColumns& piece) {
  const int splits = piece.new_file_size();
  if (piece.file_index_step_size() != splits || piece.begin_step_size() != splits ||
      piece.length_size() != splits) {
    return Unfit(piece, "of splits");
  }
  size_t file = empty() ? 0 : file_.back() + size_t{1};  // behind the last split's
  int64_t file_index = empty() ? 0 : file_index_.back();
  uint64_t end = empty() ? 0 : end_.back();
  for (int i = 0; i < splits; ++i) {
    const bool new_file = piece.new_file(i) != 0;
    file += new_file ? 1 : 0;
    if (file == 0 || file > paths_.size()) return Unfit(piece, "new_file");
    file_index = After(file_index, piece.file_index_step(i));
    if (file_index < 0 || file_index > std::numeric_limits<uint32_t>::max())
      return Unfit(piece, "file_index_step");
    const uint64_t begin = (new_file ? 0 : end) + static_cast<uint64_t>(piece.begin_step(i));
    end = begin + piece.length(i);
    file_.push_back(static_cast<uint32_t>(file - 1));
    file_index_.push_back(static_cast<uint32_t>(file_index));
    begin_.push_back(begin);
    end_.push_back(end);
    files_ = std::max(files_, static_cast<uint64_t>(file_index_.back()) + 1);
  }
  return absl::OkStatus();
}

absl::Status SplitList::Decode(const v1::SplitColumns& piece) {
  if (piece.first() == 0) *this = SplitList();
  if (piece.first() != size()) {
    return InvalidArgument("splits from {} on do not follow {}", piece.first(), size());
  }
  if (piece.more_of_size() != piece.more_files_size()) return Unfit(piece, "more_files");
  HR_RETURN_IF_ERROR(DecodeFiles(piece));
  HR_RETURN_IF_ERROR(DecodeSplits(piece));
  for (int i = 0; i < piece.more_of_size(); ++i) {
    more_files_.emplace_back(piece.more_of(i), piece.more_files(i));
  }
  return absl::OkStatus();
}

}  // namespace headrace
