// One column of a batch under construction. Rows are copied in as they come, into the memory that
// the batch leaves in: a byte is copied once, and the blocks that rows came from need not be kept.
//
// Owned by a step's state; one thread. A row is appended to all columns of a batch or to none:
// check Fits() first.
#pragma once

#include <memory>
#include <span>

#include "absl/status/status.h"
#include "element/block.h"

namespace headrace {

class ColumnBuilder {
 public:
  // Over this, a column is refused instead of allocated.
  static constexpr uint64_t kMaxBytes = 16ull << 30;

  // `field` is the rows' field; `capacity` the rows of a full batch.
  ColumnBuilder(Field field, size_t capacity);

  // Starts a column of rows of `shape`. `memory` is the batch's and must live until Finish().
  // OUT_OF_RANGE when a full column would be over kMaxBytes; nothing is allocated then.
  absl::Status Start(const Shape& shape, Arena& memory);
  // True when a row of this shape may be appended.
  bool Fits(const Cell& cell) const {
    return cell.shape == shape_ && (dtype_bytes_ == 0 || cell.bytes == row_bytes_);
  }
  const Shape& shape() const { return shape_; }
  // Appends cells[row] for each of `rows`. They must fit, and the batch must have room for them.
  void Append(std::span<const Cell> cells, std::span<const uint32_t> rows);
  // Room for `rows` more rows of a numeric column, one after the other, for the caller to write.
  std::byte* Extend(size_t rows) {
    std::byte* at = numbers_ + rows_ * row_bytes_;
    rows_ += rows;
    return at;
  }
  // Of a numeric column.
  size_t row_bytes() const { return row_bytes_; }
  // The column as one cell of shape [rows so far, ...]; memory goes to the arena of Start().
  Cell Finish();

  // Bytes outside the batch's arena.
  size_t held_bytes() const { return text_capacity_; }

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  void AppendText(std::span<const Cell> cells, std::span<const uint32_t> rows);
  void ReserveText(size_t bytes, size_t rows_after);
  size_t OffsetsBytes(size_t rows) const { return (rows * row_items_ + 1) * sizeof(int64_t); }

  Field field_;
  size_t capacity_;
  size_t dtype_bytes_;  // 0 for bytes
  Shape shape_;         // of a row
  size_t row_items_ = 0;
  size_t row_bytes_ = 0;  // numeric
  size_t rows_ = 0;
  Arena* memory_ = nullptr;
  std::byte* numbers_ = nullptr;
  // Bytes columns: offsets of a full batch, then the data, in a buffer that may have to grow.
  std::unique_ptr<std::byte, Free> text_;
  size_t text_capacity_ = 0;
  size_t text_bytes_ = 0;       // of data so far
  size_t last_text_bytes_ = 0;  // of the last full batch: the first guess for the next
};

}  // namespace headrace
