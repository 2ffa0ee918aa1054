// FrameBuffer -> views of its rows. Nothing is copied; every view borrows the buffer, which
// FrameView keeps alive.
//
// The bytes may come from anyone: Parse checks every offset, count, shape and bytes column before
// it answers, so a FrameView can be read without further checks. Immutable, thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "element/dtype.h"
#include "element/frame.h"
#include "element/provenance.h"
#include "element/shape.h"

namespace headrace {

struct FrameLimits {
  size_t max_bytes = kDefaultMaxFrameBytes;
  size_t max_columns = 4096;
  size_t max_rows = size_t{1} << 24;
};

// One field of one row.
struct TensorView {
  DType dtype = DType::kInvalid;
  Shape shape;
  // Numeric: the items, C order. Bytes: the data that `offsets` point into.
  const std::byte* data = nullptr;
  size_t bytes = 0;  // numeric: of the items; bytes: of this row's strings together
  // Bytes only: items()+1 offsets from `data`; the first need not be 0.
  const int64_t* offsets = nullptr;

  template <typename T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(data), bytes / sizeof(T)};
  }
  std::string_view string(size_t i = 0) const {
    return {reinterpret_cast<const char*>(data) + offsets[i],
            static_cast<size_t>(offsets[i + 1] - offsets[i])};
  }
};

class FrameView {
 public:
  // DATA_LOSS says what is wrong and where ("frame of task 7, column 'image': ..."); OUT_OF_RANGE
  // names the limit.
  static absl::StatusOr<std::shared_ptr<const FrameView>> Parse(FrameBuffer buffer,
                                                                const FrameLimits& limits = {});

  uint64_t task() const { return task_; }
  uint64_t sequence() const { return sequence_; }
  uint64_t epoch() const { return epoch_; }
  uint64_t lease_floor() const { return lease_floor_; }
  // Of a frame whose job is ordered. One that ends its window has no rows.
  const std::optional<PiecePlace>& place() const { return place_; }
  bool batched() const { return batched_; }
  size_t rows() const { return rows_; }
  size_t bytes() const { return buffer_.size; }

  size_t columns() const { return columns_.size(); }
  std::string_view name(size_t column) const { return columns_[column].name; }
  DType dtype(size_t column) const { return columns_[column].dtype; }
  // Position of `name`, or columns().
  size_t Find(std::string_view name) const;
  TensorView at(size_t column, size_t row) const;
  // Appends where rows [begin, end) came from to `out`, merging runs that follow on.
  void AppendRuns(size_t begin, size_t end, std::vector<Run>& out) const;

 private:
  friend class FrameParser;
  struct Column {
    std::string name;
    DType dtype = DType::kInvalid;
    bool ragged = false;
    Shape shape;                       // of every row, when not ragged
    uint64_t row_items = 0;            // of every row, when not ragged
    std::vector<Shape> row_shapes;     // ragged
    std::vector<uint64_t> row_starts;  // ragged: first item of each row
    const std::byte* data = nullptr;
    const int64_t* offsets = nullptr;  // bytes only
  };

  FrameBuffer buffer_;
  uint64_t task_ = 0;
  uint64_t sequence_ = 0;
  uint64_t epoch_ = 0;
  uint64_t lease_floor_ = 0;
  std::optional<PiecePlace> place_;
  bool batched_ = false;
  size_t rows_ = 0;
  std::vector<Column> columns_;
  std::vector<Run> runs_;
  // With row_runs: rows_ + 1 positions in runs_. Without: runs_.size() + 1 row numbers, where each
  // run begins.
  bool one_record_rows_ = false;
  std::vector<uint64_t> starts_;
};

}  // namespace headrace
