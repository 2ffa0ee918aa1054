#include "pipeline/collate/padded_column.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "common/status.h"
#include "element/numeric.h"
#include "pipeline/collate/column_builder.h"

namespace headrace {
namespace {

// Calls copy(from, to, items) for each stretch of items that lies together both in a row of shape
// `from` and in one of shape `to`, which is nowhere shorter; positions are in items.
template <typename Copy>
void ForStretches(const Shape& from, const Shape& to, Copy&& copy) {
  if (from.items() == 0) return;
  if (from == to || from.rank() == 0) return copy(0, 0, static_cast<size_t>(from.items()));
  const size_t last = from.rank() - 1;
  const auto stretch = static_cast<size_t>(from[last]);
  std::array<int64_t, Shape::kMaxRank> index{};
  for (size_t at = 0;; at += stretch) {
    int64_t place = 0;
    for (size_t d = 0; d <= last; ++d) place = place * to[d] + index[d];
    copy(at, static_cast<size_t>(place), stretch);
    size_t d = last;
    while (d > 0 && ++index[d - 1] == from[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

absl::Status CheckSize(const Field& field, size_t rows, const Shape& shape) {
  const size_t item_bytes =
      std::max(ItemSize(field.dtype), field.dtype == DType::kBytes ? sizeof(int64_t) : 0);
  uint64_t total = rows * item_bytes;
  bool over = false;
  for (int64_t dim : shape.dims())
    over = __builtin_mul_overflow(total, static_cast<uint64_t>(dim), &total) || over;
  if (!over && total <= ColumnBuilder::kMaxBytes) return absl::OkStatus();
  return OutOfRange(
      "field '{}': a batch of {} rows padded to {} {} is larger than the limit of {} bytes; lower "
      "`size` or "
      "leave out the longest rows",
      field.name, rows, Name(field.dtype), shape.ToString(), ColumnBuilder::kMaxBytes);
}

Cell PadNumbers(size_t item_bytes, std::span<const Cell> rows, const Shape& shape,
                const PadItem& pad, Arena& memory) {
  const auto row_items = static_cast<size_t>(shape.items());
  const size_t bytes = rows.size() * row_items * item_bytes;
  std::byte* const data = memory.Allocate(bytes);
  std::byte* to = data;
  for (const Cell& row : rows) {
    if (row.shape != shape) FillItems(to, row_items, item_bytes, pad);
    ForStretches(row.shape, shape, [&](size_t from, size_t place, size_t items) {
      std::memcpy(to + place * item_bytes, row.data + from * item_bytes, items * item_bytes);
    });
    to += row_items * item_bytes;
  }
  return {data, bytes, shape.WithFront(static_cast<int64_t>(rows.size()))};
}

Cell PadStrings(std::span<const Cell> rows, const Shape& shape, Arena& memory) {
  const auto row_items = static_cast<size_t>(shape.items());
  std::vector<std::string_view> values(rows.size() * row_items);
  for (size_t i = 0; i < rows.size(); ++i) {
    ForStretches(rows[i].shape, shape, [&](size_t from, size_t place, size_t items) {
      for (size_t k = 0; k < items; ++k)
        values[i * row_items + place + k] = rows[i].string(from + k);
    });
  }
  return MakeBytesCell(memory, values, shape.WithFront(static_cast<int64_t>(rows.size())));
}

}  // namespace

void FillItems(std::byte* to, size_t items, size_t item_bytes, const PadItem& pad) {
  if (item_bytes == 1 || pad == PadItem{}) {
    std::memset(to, static_cast<int>(pad[0]), items * item_bytes);
    return;
  }
  for (size_t i = 0; i < items; ++i) std::memcpy(to + i * item_bytes, pad.data(), item_bytes);
}

absl::StatusOr<PadItem> MakePadItem(double value, DType dtype) {
  PadItem item{};
  if (dtype == DType::kBytes) return item;
  const bool fits = VisitNumeric(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, Half>) {
      const Half half = ToHalf(ToFloatOdd(value));
      std::memcpy(item.data(), &half, sizeof(half));
    } else if constexpr (std::is_same_v<T, BFloat16>) {
      const BFloat16 half = ToBFloat16(ToFloatOdd(value));
      std::memcpy(item.data(), &half, sizeof(half));
    } else if constexpr (std::is_floating_point_v<T>) {
      const T number = static_cast<T>(value);
      std::memcpy(item.data(), &number, sizeof(number));
    } else {
      constexpr double kEnd =
          static_cast<double>(std::numeric_limits<T>::max() / 2 + 1) * 2.0;  // exact
      const bool in_range = value >= static_cast<double>(std::numeric_limits<T>::min()) &&
                            (std::is_same_v<T, bool> ? value <= 1 : value < kEnd);
      if (!in_range || value != std::trunc(value)) return false;
      const T number = static_cast<T>(value);
      std::memcpy(item.data(), &number, sizeof(number));
    }
    return true;
  });
  if (!fits) return InvalidArgument("pad_value {} does not fit {}", value, Name(dtype));
  return item;
}

Shape CommonShape(std::span<const Cell> rows, const Shape& pad_to) {
  Shape shape = rows[0].shape;
  for (const Cell& row : rows) {
    for (size_t d = 0; d < shape.rank(); ++d) shape[d] = std::max(shape[d], row.shape[d]);
  }
  for (size_t d = 0; d < shape.rank() && pad_to.has_rank(); ++d) {
    if (pad_to[d] != Shape::kDynamic) shape[d] = pad_to[d];
  }
  return shape;
}

absl::StatusOr<Cell> PadColumn(const Field& field, std::span<const Cell> rows, const Shape& shape,
                               const PadItem& pad, Arena& memory, PaddingCount& count) {
  HR_RETURN_IF_ERROR(CheckSize(field, rows.size(), shape));
  count.items += rows.size() * static_cast<uint64_t>(shape.items());
  for (const Cell& row : rows)
    count.padding += static_cast<uint64_t>(shape.items() - row.shape.items());
  if (field.dtype == DType::kBytes) return PadStrings(rows, shape, memory);
  return PadNumbers(ItemSize(field.dtype), rows, shape, pad, memory);
}

}  // namespace headrace
