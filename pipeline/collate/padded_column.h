// One column of a batch whose rows differ in shape: each dimension is as long as the longest row,
// and what a row lacks is filled up.
#pragma once

#include <array>
#include <span>

#include "absl/status/statusor.h"
#include "element/block.h"

namespace headrace {

// How much of what was written is padding.
struct PaddingCount {
  uint64_t items = 0;    // all
  uint64_t padding = 0;  // of them
};

// The bytes of one item of padding; bytes fields are padded with empty strings.
using PadItem = std::array<std::byte, 8>;

// `value` as an item of `dtype`, or INVALID_ARGUMENT when the type cannot hold it exactly
// ("pad_value 300 does not fit uint8"; float types round).
absl::StatusOr<PadItem> MakePadItem(double value, DType dtype);

// Writes `items` copies of `pad`, of item_bytes each.
void FillItems(std::byte* to, size_t items, size_t item_bytes, const PadItem& pad);

// The shape that holds all `rows`, which have one rank: of each dimension the longest, or what
// `pad_to` says (dynamic: the longest). `pad_to` of unknown rank says nothing. No row may be longer
// than it.
Shape CommonShape(std::span<const Cell> rows, const Shape& pad_to);

// `rows` as one cell [rows, ...] of `shape` in `memory`; each row fits into it. OUT_OF_RANGE when
// it is over ColumnBuilder::kMaxBytes. At least one row.
absl::StatusOr<Cell> PadColumn(const Field& field, std::span<const Cell> rows, const Shape& shape,
                               const PadItem& pad, Arena& memory, PaddingCount& count);

}  // namespace headrace
