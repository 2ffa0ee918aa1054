// A row on its own: all its cells in one allocation that it owns. For steps that keep single rows
// for long (shuffle): a row in a block keeps the whole block's memory alive, a packed row keeps
// itself.
#pragma once

#include <memory>
#include <vector>

#include "element/block.h"

namespace headrace {

// One thread at a time. Moved, never copied.
class PackedRow {
 public:
  PackedRow() = default;  // no row
  // Copies row `row` of `block`.
  PackedRow(const Block& block, size_t row) { Pack(block, row); }
  PackedRow(PackedRow&&) = default;
  PackedRow& operator=(PackedRow&&) = default;

  // Becomes a copy of row `row` of `block`; in the memory it has, when that is not much too large.
  void Pack(const Block& block, size_t row);

  const Provenance& provenance() const { return provenance_; }
  // What the row keeps alive, itself included.
  size_t bytes() const {
    const size_t runs = provenance_.capacity() > 1 ? provenance_.capacity() * sizeof(Run) : 0;
    return sizeof(PackedRow) + capacity_ + runs;
  }
  // Brings the row's first bytes near, for an AppendTo() soon.
  void Prefetch() const {
    constexpr size_t kLine = 64, kMost = 16 * kLine;
    for (size_t at = 0; at < size_ && at < kMost; at += kLine)
      __builtin_prefetch(memory_.get() + at);
  }
  // Adds the row to `block`. A small one is copied and the memory kept for the next Pack(), a large
  // one gives its memory to the block's arena. `scratch` is working space. The row is then empty.
  void AppendTo(Block& block, std::vector<Cell>& scratch);

 private:
  // Per cell: its bytes, its rank, its dims (int64 each); then the data of all cells, each 16-byte
  // aligned.
  std::shared_ptr<std::byte[]> memory_;
  size_t capacity_ = 0;  // of memory_
  size_t size_ = 0;      // used of it
  Provenance provenance_;
};

}  // namespace headrace
