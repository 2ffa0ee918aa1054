#include "element/block.h"

#include <cassert>
#include <iterator>
#include <utility>

namespace headrace {

std::string_view Cell::string(size_t i) const {
  if (shape.rank() == 0) return string();
  const auto* offsets = reinterpret_cast<const int64_t*>(data);
  const auto* base = reinterpret_cast<const char*>(offsets + shape.items() + 1);
  return {base + offsets[i], static_cast<size_t>(offsets[i + 1] - offsets[i])};
}

Block::Block(SchemaPtr schema) : Block(std::move(schema), nullptr) {}

Block::Block(SchemaPtr schema, std::shared_ptr<FrameMemory> frames)
    : schema_(std::move(schema)),
      arena_(std::make_shared<Arena>(std::move(frames))),
      columns_(schema_->size()) {}

void Block::AppendRow(Provenance provenance, std::span<const Cell> cells) {
  assert(cells.size() == columns_.size());
  for (size_t i = 0; i < cells.size(); ++i) columns_[i].push_back(cells[i]);
  provenance_.push_back(std::move(provenance));
  if (!ends_.empty()) ends_.push_back(RowEnd::kLive);
}

void Block::Reserve(size_t rows) {
  for (auto& column : columns_) column.reserve(rows);
  provenance_.reserve(rows);
}

void Block::Mark(size_t row, RowEnd end) {
  if (ends_.empty()) ends_.assign(rows(), RowEnd::kLive);
  ends_[row] = end;
}

void Block::Filter(size_t row) { Mark(row, RowEnd::kFiltered); }

void Block::Drop(size_t row) { Mark(row, RowEnd::kDropped); }

void Block::Fail(size_t row, absl::Status status) {
  Mark(row, RowEnd::kFailed);
  uint64_t records = 0;
  for (const Run& run : provenance_[row]) records += run.count;
  failures_.push_back(
      {records == 0 ? Run{} : provenance_[row].front(), std::move(status), records});
}

void Block::FailRecord(const Run& record, absl::Status status) {
  settled_.push_back(record);
  failures_.push_back({record, std::move(status), record.count});
}

void Block::Compact() {
  if (ends_.empty()) return;
  size_t kept = 0;
  for (size_t row = 0; row < ends_.size(); ++row) {
    if (ends_[row] != RowEnd::kLive) {
      auto& runs = ends_[row] == RowEnd::kDropped ? dropped_ : settled_;
      for (const Run& run : provenance_[row]) AppendRun(runs, run);
      continue;
    }
    if (kept != row) {
      for (auto& column : columns_) column[kept] = column[row];
      provenance_[kept] = std::move(provenance_[row]);
    }
    ++kept;
  }
  for (auto& column : columns_) column.resize(kept);
  provenance_.resize(kept);
  ends_.clear();
}

Block Block::TakeFront(size_t count) {
  assert(ends_.empty() && count <= rows());
  Block front(schema_);
  front.columns_.resize(columns_.size());
  const auto n = static_cast<ptrdiff_t>(count);
  for (size_t i = 0; i < columns_.size(); ++i) {
    front.columns_[i].assign(columns_[i].begin(), columns_[i].begin() + n);
    columns_[i].erase(columns_[i].begin(), columns_[i].begin() + n);
  }
  front.provenance_.assign(std::make_move_iterator(provenance_.begin()),
                           std::make_move_iterator(provenance_.begin() + n));
  provenance_.erase(provenance_.begin(), provenance_.begin() + n);
  front.settled_ = std::exchange(settled_, {});
  front.dropped_ = std::exchange(dropped_, {});
  front.failures_ = std::exchange(failures_, {});
  front.arena_->Adopt(arena_, front.live_bytes());
  return front;
}

void Block::Append(Block from) {
  assert(ends_.empty() && from.ends_.empty() && columns_.size() == from.columns_.size());
  for (size_t i = 0; i < columns_.size(); ++i) {
    columns_[i].insert(columns_[i].end(), from.columns_[i].begin(), from.columns_[i].end());
  }
  provenance_.insert(provenance_.end(), std::make_move_iterator(from.provenance_.begin()),
                     std::make_move_iterator(from.provenance_.end()));
  settled_.insert(settled_.end(), from.settled_.begin(), from.settled_.end());
  dropped_.insert(dropped_.end(), from.dropped_.begin(), from.dropped_.end());
  failures_.insert(failures_.end(), std::make_move_iterator(from.failures_.begin()),
                   std::make_move_iterator(from.failures_.end()));
  const size_t bytes = from.arena_->bytes();
  arena_->Adopt(std::move(from.arena_), bytes);
}

size_t Block::live_bytes() const {
  size_t total = 0;
  for (const auto& column : columns_) {
    for (const Cell& cell : column) total += cell.bytes;
  }
  return total;
}

Cell MakeBytesCell(Arena& arena, std::string_view value) {
  std::byte* data = arena.AllocatePacked(value.size(), 1);
  if (!value.empty()) std::memcpy(data, value.data(), value.size());
  return {data, value.size(), Shape()};
}

Cell MakeBytesCell(Arena& arena, std::span<const std::string_view> values, Shape shape) {
  assert(static_cast<size_t>(shape.items()) == values.size() && shape.rank() > 0);
  size_t total = (values.size() + 1) * sizeof(int64_t);
  for (std::string_view v : values) total += v.size();
  std::byte* data = arena.AllocatePacked(total, alignof(int64_t));
  auto* offsets = reinterpret_cast<int64_t*>(data);
  auto* bytes = reinterpret_cast<char*>(offsets + values.size() + 1);
  int64_t at = 0;
  offsets[0] = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i].empty()) std::memcpy(bytes + at, values[i].data(), values[i].size());
    at += static_cast<int64_t>(values[i].size());
    offsets[i + 1] = at;
  }
  return {data, total, shape};
}

}  // namespace headrace
