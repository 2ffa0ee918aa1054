#include "pipeline/collate/column_builder.h"

#include <algorithm>
#include <new>

#include "common/status.h"

namespace headrace {
namespace {

// The data bytes of a bytes cell, without offsets.
std::string_view Data(const Cell& cell, size_t items) {
  if (cell.shape.rank() == 0) return cell.string();
  const size_t offsets = (items + 1) * sizeof(int64_t);
  return {reinterpret_cast<const char*>(cell.data) + offsets, cell.bytes - offsets};
}

}  // namespace

void ColumnBuilder::Free::operator()(std::byte* p) const {
  ::operator delete(p, std::align_val_t{Arena::kAlignment});
}

ColumnBuilder::ColumnBuilder(Field field, size_t capacity)
    : field_(std::move(field)), capacity_(capacity), dtype_bytes_(ItemSize(field_.dtype)) {}

absl::Status ColumnBuilder::Start(const Shape& shape, Arena& memory) {
  const bool is_text = field_.dtype == DType::kBytes;
  const uint64_t item_bytes = is_text ? sizeof(int64_t) : dtype_bytes_;
  uint64_t total = item_bytes * capacity_;
  bool over = capacity_ > kMaxBytes;
  for (int64_t dim : shape.dims())
    over = __builtin_mul_overflow(total, static_cast<uint64_t>(dim), &total) || over;
  if (over || total > kMaxBytes) {
    return OutOfRange(
        "field '{}': a batch of {} rows of {} {} is larger than the limit of {} bytes; lower "
        "`size`",
        field_.name, capacity_, Name(field_.dtype), shape.ToString(), kMaxBytes);
  }
  shape_ = shape;
  row_items_ = static_cast<size_t>(shape.items());
  row_bytes_ = row_items_ * dtype_bytes_;
  rows_ = 0;
  memory_ = &memory;
  text_bytes_ = 0;
  numbers_ = is_text ? nullptr : memory.Allocate(capacity_ * row_bytes_);
  return absl::OkStatus();
}

void ColumnBuilder::Append(std::span<const Cell> cells, std::span<const uint32_t> rows) {
  if (dtype_bytes_ == 0) return AppendText(cells, rows);
  std::byte* to = numbers_ + rows_ * row_bytes_;
  if (row_bytes_ == sizeof(int64_t)) {  // labels and the like: no call per row
    for (uint32_t row : rows) {
      std::memcpy(to, cells[row].data, sizeof(int64_t));
      to += sizeof(int64_t);
    }
  } else if (row_bytes_ > 0) {
    for (uint32_t row : rows) {
      std::memcpy(to, cells[row].data, row_bytes_);
      to += row_bytes_;
    }
  }
  rows_ += rows.size();
}

void ColumnBuilder::AppendText(std::span<const Cell> cells, std::span<const uint32_t> rows) {
  size_t more = 0;
  for (uint32_t row : rows) more += Data(cells[row], row_items_).size();
  ReserveText(text_bytes_ + more, rows_ + rows.size());
  auto* offsets = reinterpret_cast<int64_t*>(text_.get()) + rows_ * row_items_;
  auto* data = reinterpret_cast<char*>(text_.get()) + OffsetsBytes(capacity_);
  if (rows_ == 0) offsets[0] = 0;
  for (uint32_t row : rows) {
    const Cell& cell = cells[row];
    const std::string_view bytes = Data(cell, row_items_);
    if (!bytes.empty()) std::memcpy(data + text_bytes_, bytes.data(), bytes.size());
    if (shape_.rank() == 0) {
      *++offsets = static_cast<int64_t>(text_bytes_ + bytes.size());
    } else {
      const auto* from = reinterpret_cast<const int64_t*>(cell.data);
      for (size_t i = 1; i <= row_items_; ++i)
        *++offsets = static_cast<int64_t>(text_bytes_) + from[i];
    }
    text_bytes_ += bytes.size();
  }
  rows_ += rows.size();
}

// Room for `bytes` of data once `rows_after` rows are in. Exact when that fills the batch; else a
// guess with an eighth to spare, so that most batches are allocated once.
void ColumnBuilder::ReserveText(size_t bytes, size_t rows_after) {
  const size_t offsets = OffsetsBytes(capacity_);
  if (text_ != nullptr && offsets + bytes <= text_capacity_) return;
  size_t data = bytes;
  if (rows_after < capacity_) {
    const double guess = static_cast<double>(bytes) / static_cast<double>(rows_after) *
                         static_cast<double>(capacity_);
    const size_t expected = std::max(static_cast<size_t>(guess), last_text_bytes_);
    // Never more than four times what is there: one long record must not reserve for a batch of
    // such.
    data = std::max(bytes, std::min(expected + expected / 8, bytes * 4 + (64 << 10)));
  }
  const size_t capacity = offsets + data;
  std::unique_ptr<std::byte, Free> grown(
      static_cast<std::byte*>(::operator new(capacity, std::align_val_t{Arena::kAlignment})));
  if (text_ != nullptr) {
    std::memcpy(grown.get(), text_.get(), OffsetsBytes(rows_));
    std::memcpy(grown.get() + offsets, text_.get() + offsets, text_bytes_);
  }
  text_ = std::move(grown);
  text_capacity_ = capacity;
}

Cell ColumnBuilder::Finish() {
  Cell cell;
  cell.shape = shape_.WithFront(static_cast<int64_t>(rows_));
  if (dtype_bytes_ != 0) {
    cell.data = numbers_;
    cell.bytes = rows_ * row_bytes_;
    return cell;
  }
  if (text_ == nullptr) ReserveText(0, capacity_);
  const size_t offsets = OffsetsBytes(rows_);
  if (rows_ == 0) reinterpret_cast<int64_t*>(text_.get())[0] = 0;
  if (rows_ < capacity_) {  // the last, short batch: its offsets take less room
    std::memmove(text_.get() + offsets, text_.get() + OffsetsBytes(capacity_), text_bytes_);
  } else {
    last_text_bytes_ = text_bytes_;
  }
  cell.data = text_.get();
  cell.bytes = offsets + text_bytes_;
  memory_->Adopt(std::shared_ptr<const void>(text_.release(), Free()), text_capacity_);
  text_capacity_ = 0;
  return cell;
}

}  // namespace headrace
