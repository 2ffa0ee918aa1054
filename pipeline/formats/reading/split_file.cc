#include "pipeline/formats/reading/split_file.h"

#include <string>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "common/status.h"

namespace headrace {
namespace {

constexpr char kOffsetPayload[] = "headrace/offset";

}  // namespace

absl::StatusOr<std::unique_ptr<RandomAccessFile>> OpenSplitFile(FileSystem& files,
                                                                const v1::Split& split) {
  if (split.begin() > split.end() || split.end() > split.file_size()) {
    return InvalidArgument("{}: split {} names bytes {} to {} of a file of {}", split.path(),
                           split.id(), split.begin(), split.end(), split.file_size());
  }
  return OpenUnchanged(files, {split.path(), split.file_size(), split.file_mtime_ns()});
}

bool IsWholeFile(const v1::Split& split) {
  return split.begin() == 0 && split.end() == split.file_size();
}

std::unique_ptr<RecordBuffer> NewSplitBuffer(std::unique_ptr<RandomAccessFile> file,
                                             const v1::Split& split, Codec codec) {
  auto stream = NewRangeStream(std::move(file), split.begin(), split.end());
  if (codec == Codec::kNone) {
    return std::make_unique<RecordBuffer>(std::move(stream), split.begin(), split.end());
  }
  return std::make_unique<RecordBuffer>(
      NewDecompressingStream(codec, std::move(stream), split.path()), 0, std::nullopt);
}

v1::Split SplitOf(const FileInfo& file, uint64_t begin, uint64_t end) {
  v1::Split split;
  split.set_path(file.path);
  split.set_begin(begin);
  split.set_end(end);
  split.set_file_size(file.size);
  split.set_file_mtime_ns(file.mtime_ns);
  return split;
}

v1::Split SplitOf(const FileInfo& file) { return SplitOf(file, 0, file.size); }

std::optional<uint64_t> OffsetOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kOffsetPayload);
  uint64_t offset = 0;
  if (!payload || !absl::SimpleAtoi(std::string(*payload), &offset)) return std::nullopt;
  return offset;
}

void RecordCursor::Fail(Block& block, absl::StatusCode code, uint64_t offset,
                        std::string_view what) {
  absl::Status status =
      MakeStatus(code, "{}: {}byte {}, record {} of split {}: {}", path_,
                 compressed_ ? "decompressed " : "", offset, index_, split_, what);
  const std::string digits = std::to_string(offset);
  status.SetPayload(kOffsetPayload, absl::Cord(absl::string_view(digits)));
  block.FailRecord(run(), std::move(status));
  ++index_;
}

}  // namespace headrace
