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
  PackedRow(const Block& block, size_t row);
  PackedRow(PackedRow&&) = default;
  PackedRow& operator=(PackedRow&&) = default;

  const Provenance& provenance() const { return provenance_; }
  // What the row keeps alive, itself included.
  size_t bytes() const {
    const size_t runs = provenance_.capacity() > 1 ? provenance_.capacity() * sizeof(Run) : 0;
    return sizeof(PackedRow) + size_ + runs;
  }
  // Adds the row to `block`, whose arena takes the memory over: nothing is copied. `scratch` is
  // working space.
  void AppendTo(Block& block, std::vector<Cell>& scratch) &&;

 private:
  // Per cell: its bytes, its rank, its dims (int64 each); then the data of all cells, each 16-byte
  // aligned.
  std::shared_ptr<std::byte[]> memory_;
  size_t size_ = 0;
  Provenance provenance_;
};

}  // namespace headrace
