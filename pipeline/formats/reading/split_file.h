// What every reader of splits needs: the split's file, opened and checked, and messages that name
// the record.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "element/block.h"
#include "headrace/v1/pipeline.pb.h"
#include "pipeline/formats/reading/record_buffer.h"
#include "pipeline/sources/byte_stream.h"
#include "pipeline/sources/file_system.h"

namespace headrace {

// The split's own file (not more_files); errors as OpenUnchanged.
absl::StatusOr<std::unique_ptr<RandomAccessFile>> OpenSplitFile(FileSystem& files,
                                                                const v1::Split& split);

// True when the split is all of its file: only then may the file be compressed.
bool IsWholeFile(const v1::Split& split);

// A window over the split's bytes, decompressed by `codec`. Offsets are then those of the
// decompressed bytes.
std::unique_ptr<RecordBuffer> NewSplitBuffer(std::unique_ptr<RandomAccessFile> file,
                                             const v1::Split& split, Codec codec);

// [begin, end) of `file` as a split; the whole file by default.
v1::Split SplitOf(const FileInfo& file, uint64_t begin, uint64_t end);
v1::Split SplitOf(const FileInfo& file);

// The byte offset that a failed record's status carries beside its message (in the decompressed
// file, where it is compressed), if it carries one.
std::optional<uint64_t> OffsetOf(const absl::Status& status);

// Names the next record of a split in messages, and counts.
class RecordCursor {
 public:
  explicit RecordCursor(const v1::Split& split, Codec codec = Codec::kNone)
      : path_(split.path()), split_(split.id()), compressed_(codec != Codec::kNone) {}

  uint64_t index() const { return index_; }
  Run run() const { return {split_, index_, 1}; }
  // Gives the next record to `block`, as a row or as a failed one.
  void Append(Block& block, std::span<const Cell> cells) {
    block.AppendRow({run()}, cells);
    ++index_;
  }
  // "a.tfrecord: byte 4096, record 3 of split 7: WHAT".
  void Fail(Block& block, absl::StatusCode code, uint64_t offset, std::string_view what);
  // The caller has failed the next record itself.
  void Pass() { ++index_; }
  // A record index that has no content.
  void Settle(Block& block) {
    AppendRun(block.settled(), run());
    ++index_;
  }

 private:
  const std::string path_;
  const uint64_t split_;
  const bool compressed_;
  uint64_t index_ = 0;
};

}  // namespace headrace
