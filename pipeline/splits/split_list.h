// The splits of a dataset, in columns: 24 bytes each, and their files once. Made by whoever lists a
// source; a job's is immutable and shared. Travels and is kept as v1::SplitColumns, in pieces.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "headrace/v1/splits.pb.h"
#include "pipeline/splits/path_column.h"

namespace headrace {

class SplitList {
 public:
  // A piece of about that many bytes is one value of a journal, whatever its driver.
  static constexpr size_t kPieceBytes = 512 << 10;

  // Its id is its position, whatever it says.
  void Add(const v1::Split& split);

  size_t size() const { return file_.size(); }
  bool empty() const { return file_.empty(); }
  v1::Split operator[](size_t index) const;
  // Where splits are sharded by file.
  uint64_t file_index(size_t index) const { return file_index_[index]; }
  // Highest file_index + 1.
  uint64_t files() const { return files_; }
  size_t bytes() const;  // of memory
  // Of all ranges and further files together: how much there is to read.
  uint64_t data_bytes() const;

  // Fills `piece` with splits from `first` on, as many as make about kPieceBytes; returns the
  // position behind them.
  size_t Encode(size_t first, v1::SplitColumns& piece) const;
  // Appends a piece; one that begins at 0 replaces all. INVALID_ARGUMENT when it does not follow
  // on, or its columns do not fit together; the list is then half filled, and of no use.
  absl::Status Decode(const v1::SplitColumns& piece);

 private:
  // `path` names the file of the next split; a new one is appended.
  void AddFile(std::string_view path, uint64_t size, int64_t mtime_ns, uint32_t root_length);
  void AddRange(uint64_t file_index, uint64_t begin, uint64_t end);
  absl::Status DecodeFiles(const v1::SplitColumns& piece);
  absl::Status DecodeSplits(const v1::SplitColumns& piece);
  const v1::FileRun* MoreFiles(size_t index) const;

  PathColumn paths_;
  std::vector<uint64_t> file_size_;
  std::vector<int64_t> file_mtime_ns_;
  std::vector<uint32_t> root_length_;

  std::vector<uint32_t> file_;  // never falls, grows by one at most
  std::vector<uint32_t> file_index_;
  std::vector<uint64_t> begin_;
  std::vector<uint64_t> end_;
  std::vector<std::pair<uint64_t, v1::FileRun>> more_files_;  // by position
  uint64_t files_ = 0;
};

}  // namespace headrace
