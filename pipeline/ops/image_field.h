// What the image steps share: which fields are images, what their words for it are, and how a row
// is walked. Immutable after Bind, used by any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/status.h"
#include "element/block.h"
#include "element/schema.h"
#include "pipeline/graph/random.h"
#include "pipeline/imaging/image.h"
#include "pipeline/imaging/resample.h"

namespace headrace {

// A bound image field: uint8 or float32, [height, width, channels] with 1 or 3 channels.
struct ImageField {
  std::string name;
  size_t at = 0;
  DType dtype = DType::kInvalid;
  int64_t channels = Shape::kDynamic;  // as the schema knows them
};

// INVALID_ARGUMENT that says what the field is and what to do: "field 'image' is bytes; decode it
// first with decode_image".
absl::StatusOr<ImageField> RequireImage(const Schema& schema, const std::string& name,
                                        std::string_view step);

// What a row really holds; INVALID_ARGUMENT where the schema left a channel count open and it is
// neither 1 nor 3, or a side is 0.
absl::Status CheckImage(const Cell& cell);

// Of a uint8 cell.
inline ImageView ViewOf(const Cell& cell) {
  return {reinterpret_cast<const uint8_t*>(cell.data), cell.shape[0], cell.shape[1], cell.shape[2]};
}

struct ImageSize {
  int64_t height = 0;
  int64_t width = 0;
};
// [height, width]; one number stands for both. INVALID_ARGUMENT for anything else.
absl::StatusOr<ImageSize> ParseImageSize(const std::vector<int64_t>& size);

// What `resize` makes of height x width: `size` itself, or, when it is one number, the shorter side
// at that and the longer one in proportion, cut to an integer as in torchvision. OUT_OF_RANGE where
// that is a huge image.
absl::StatusOr<ImageSize> ResizedTo(const std::vector<int64_t>& size, int64_t height,
                                    int64_t width);

// INVALID_ARGUMENT, under the parameter's name, for anything but 0 to 1.
absl::Status CheckProbability(double probability);

// The step's own seed where it has one, else what the context says.
inline RandomKey WithSeed(RandomKey key, const std::optional<int64_t>& seed) {
  if (seed) key.seed = static_cast<uint64_t>(*seed);
  return key;
}

// Replaces `cell` by a copy of `region` of it, which lies inside; a region that is all of it copies
// nothing.
void CropCell(Cell& cell, DType dtype, const Region& region, Arena& arena);
// Replaces `cell` by `box` of it, resampled.
void ResampleCell(Cell& cell, DType dtype, const Box& box, ResampleMethod method,
                  const ImageSize& to, Arena& arena);

// Calls change(row, cell) -> absl::Status for every row; an error fails the row, under the field's
// name.
template <typename Change>
void ForEachImage(Block& block, const ImageField& field, Change change) {
  std::vector<Cell>& cells = block.column(field.at);
  for (size_t row = 0; row < cells.size(); ++row) {
    absl::Status status = CheckImage(cells[row]);
    if (status.ok()) status = change(row, cells[row]);
    if (!status.ok()) block.Fail(row, Annotate(status, fmt::format("field '{}'", field.name)));
  }
}

}  // namespace headrace
