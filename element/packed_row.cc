#include "element/packed_row.h"

#include <utility>

namespace headrace {
namespace {

constexpr size_t kAlignment = 16;  // what make_shared gives; enough for every item type
// Up to here a copy costs less than what malloc and free do for a row's memory (measured,
// bench/pipeline).
constexpr size_t kSmallBytes = 16 << 10;

size_t RoundUp(size_t n) { return (n + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

void PackedRow::Pack(const Block& block, size_t row) {
  const auto& columns = block.columns();
  size_t words = 0;
  size_t data_bytes = 0;
  for (const auto& column : columns) {
    words += 2 + column[row].shape.rank();
    data_bytes += RoundUp(column[row].bytes);
  }
  size_ = RoundUp(words * sizeof(int64_t)) + data_bytes;
  if (size_ > capacity_ || size_ < capacity_ / 2) {
    memory_ = std::make_shared_for_overwrite<std::byte[]>(size_);
    capacity_ = size_;
  }
  auto* head = reinterpret_cast<int64_t*>(memory_.get());
  std::byte* data = memory_.get() + RoundUp(words * sizeof(int64_t));
  for (const auto& column : columns) {
    const Cell& cell = column[row];
    *head++ = static_cast<int64_t>(cell.bytes);
    *head++ = static_cast<int64_t>(cell.shape.rank());
    for (int64_t dim : cell.shape.dims()) *head++ = dim;
    if (cell.bytes > 0) std::memcpy(data, cell.data, cell.bytes);
    data += RoundUp(cell.bytes);
  }
  provenance_ = block.provenance(row);
}

void PackedRow::AppendTo(Block& block, std::vector<Cell>& scratch) {
  scratch.resize(block.columns().size());
  const auto* head = reinterpret_cast<const int64_t*>(memory_.get());
  for (Cell& cell : scratch) {
    cell.bytes = static_cast<size_t>(head[0]);
    const auto rank = static_cast<size_t>(head[1]);
    cell.shape = Shape(std::span(head + 2, rank));
    head += 2 + rank;
  }
  const auto head_bytes =
      static_cast<size_t>(reinterpret_cast<const std::byte*>(head) - memory_.get());
  const std::byte* data = memory_.get() + RoundUp(head_bytes);
  const bool small = size_ <= kSmallBytes;
  for (Cell& cell : scratch) {
    if (small) {
      std::byte* copy = block.arena().AllocatePacked(cell.bytes, kAlignment);
      if (cell.bytes > 0) std::memcpy(copy, data, cell.bytes);
      cell.data = copy;
    } else {
      cell.data = data;
    }
    data += RoundUp(cell.bytes);
  }
  block.AppendRow(std::move(provenance_), scratch);
  provenance_.clear();
  size_ = 0;
  if (small) return;
  block.arena().Adopt(std::move(memory_), capacity_);
  capacity_ = 0;
}

}  // namespace headrace
