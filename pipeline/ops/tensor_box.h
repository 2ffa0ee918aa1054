// What pad_to and crop_to share: which part of a tensor they keep, and how it is copied.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "element/shape.h"
#include "pipeline/collate/padded_column.h"

namespace headrace {

// Where the shorter of two lengths lies within the longer.
enum class Alignment { kStart, kCenter, kEnd, kRandom };

// "start", "center", "end" or, where it is allowed, "random"; INVALID_ARGUMENT names them.
absl::StatusOr<Alignment> ParseAlignment(std::string_view name, bool random_allowed);

// Offset of a length within one that is `slack` longer. `draw` (0 to slack) is used by kRandom
// only.
int64_t OffsetOf(Alignment alignment, int64_t slack, int64_t draw);

// The `shape` parameter of both: a length for each dimension, -1 to leave one as it is.
// INVALID_ARGUMENT for anything else.
absl::StatusOr<Shape> ParseTargetShape(const std::vector<int64_t>& shape);

// Copies the box of `size` items that begins at `from_at` in a tensor of shape `from` to where it
// begins at `to_at` in one of shape `to`. All of one rank; the box lies inside both. Items are
// item_bytes long.
void CopyBox(const std::byte* in, const Shape& from, const Shape& from_at, std::byte* out,
             const Shape& to, const Shape& to_at, const Shape& size, size_t item_bytes);

}  // namespace headrace
