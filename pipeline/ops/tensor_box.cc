#include "pipeline/ops/tensor_box.h"

#include <array>
#include <cstring>

#include "common/status.h"

namespace headrace {
namespace {

constexpr int64_t kMaxLength = int64_t{1} << 31;

}  // namespace

absl::StatusOr<Alignment> ParseAlignment(std::string_view name, bool random_allowed) {
  if (name == "start") return Alignment::kStart;
  if (name == "center") return Alignment::kCenter;
  if (name == "end") return Alignment::kEnd;
  if (name == "random" && random_allowed) return Alignment::kRandom;
  return InvalidArgument("align: expected start, center{} end, got '{}'",
                         random_allowed ? ", random or" : " or", name);
}

int64_t OffsetOf(Alignment alignment, int64_t slack, int64_t draw) {
  switch (alignment) {
    case Alignment::kStart:
      return 0;
    case Alignment::kCenter:
      return slack / 2;
    case Alignment::kEnd:
      return slack;
    case Alignment::kRandom:
      return draw;
  }
  return 0;
}

absl::StatusOr<Shape> ParseTargetShape(const std::vector<int64_t>& shape) {
  if (shape.empty() || shape.size() > Shape::kMaxRank) {
    return InvalidArgument("shape: expected 1 to {} lengths, got {}", Shape::kMaxRank,
                           shape.size());
  }
  for (int64_t length : shape) {
    if (length < Shape::kDynamic || length > kMaxLength) {
      return InvalidArgument("shape: expected lengths of 0 to {}, or -1 for as it is, got {}",
                             kMaxLength, length);
    }
  }
  return Shape(std::span<const int64_t>(shape));
}

void CopyBox(const std::byte* in, const Shape& from, const Shape& from_at, std::byte* out,
             const Shape& to, const Shape& to_at, const Shape& size, size_t item_bytes) {
  if (size.items() == 0) return;
  const size_t last = size.rank() - 1;
  const size_t bytes = static_cast<size_t>(size[last]) * item_bytes;
  std::array<int64_t, Shape::kMaxRank> index{};  // of the stretch within the box
  for (;;) {
    int64_t source = 0, place = 0;
    for (size_t d = 0; d <= last; ++d) {
      source = source * from[d] + from_at[d] + index[d];
      place = place * to[d] + to_at[d] + index[d];
    }
    std::memcpy(out + static_cast<size_t>(place) * item_bytes,
                in + static_cast<size_t>(source) * item_bytes, bytes);
    size_t d = last;
    while (d > 0 && ++index[d - 1] == size[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

}  // namespace headrace
