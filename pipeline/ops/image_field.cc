#include "pipeline/ops/image_field.h"

#include <algorithm>
#include <cstring>

#include "pipeline/imaging/decode.h"

namespace headrace {
namespace {

// The most that any kind of image file allows a side to be.
constexpr int64_t kMaxSide = 65'535;

}  // namespace

absl::StatusOr<ImageField> RequireImage(const Schema& schema, const std::string& name,
                                        std::string_view step) {
  HR_ASSIGN_OR_RETURN(const size_t at, schema.Require(name));
  const Field& field = schema[at];
  if (field.dtype == DType::kBytes) {
    return InvalidArgument("field '{}' is bytes; decode it first with decode_image", name);
  }
  const bool pixels = field.dtype == DType::kUInt8 || field.dtype == DType::kFloat32;
  if (!pixels || !field.shape.has_rank() || field.shape.rank() != 3) {
    return InvalidArgument(
        "field '{}' is {} {}; {} takes an image: uint8 or float32 [height, width, channels]", name,
        Name(field.dtype), field.shape.ToString(), step);
  }
  const int64_t channels = field.shape[2];
  if (channels != Shape::kDynamic && channels != 1 && channels != 3) {
    return InvalidArgument(
        "field '{}' is {}; {} takes 1 or 3 channels, as the last dimension (to_chw and layout: chw "
        "belong behind it)",
        name, field.shape.ToString(), step);
  }
  return ImageField{name, at, field.dtype, channels};
}

absl::Status CheckImage(const Cell& cell) {
  if (cell.shape[2] != 1 && cell.shape[2] != 3) {
    return InvalidArgument("image is {}; expected 1 or 3 channels", cell.shape.ToString());
  }
  if (cell.shape[0] <= 0 || cell.shape[1] <= 0)
    return InvalidArgument("image is {}", cell.shape.ToString());
  return absl::OkStatus();
}

absl::StatusOr<ImageSize> ParseImageSize(const std::vector<int64_t>& size) {
  if (size.empty() || size.size() > 2) {
    return InvalidArgument("size: expected [height, width], got {} numbers", size.size());
  }
  const ImageSize out{size.front(), size.back()};
  if (out.height <= 0 || out.width <= 0 || out.height > kMaxSide || out.width > kMaxSide ||
      out.height * out.width > kDefaultMaxPixels) {
    return InvalidArgument("size: [{}, {}] is not possible: sides are 1 to {}, at most {} pixels",
                           out.height, out.width, kMaxSide, kDefaultMaxPixels);
  }
  return out;
}

absl::StatusOr<ImageSize> ResizedTo(const std::vector<int64_t>& size, int64_t height,
                                    int64_t width) {
  if (size.size() == 2) return ImageSize{size[0], size[1]};
  const int64_t side = size[0];
  const double longer = static_cast<double>(side) * static_cast<double>(std::max(height, width)) /
                        static_cast<double>(std::min(height, width));
  if (longer * static_cast<double>(side) > static_cast<double>(kDefaultMaxPixels)) {
    return OutOfRange(
        "image of {} x {} (height x width) with its shorter side at {} has more than {} pixels",
        height, width, side, kDefaultMaxPixels);
  }
  const auto length = static_cast<int64_t>(longer);
  return height <= width ? ImageSize{side, length} : ImageSize{length, side};
}

absl::Status CheckProbability(double probability) {
  if (probability >= 0 && probability <= 1) return absl::OkStatus();
  return InvalidArgument("probability: expected 0 to 1, got {}", probability);
}

void CropCell(Cell& cell, DType dtype, const Region& region, Arena& arena) {
  const int64_t width = cell.shape[1], channels = cell.shape[2];
  if (region == Region{0, 0, width, cell.shape[0]}) return;
  const int64_t pixel_bytes = channels * static_cast<int64_t>(ItemSize(dtype));
  const auto row_bytes = static_cast<size_t>(region.width * pixel_bytes);
  const size_t bytes = row_bytes * static_cast<size_t>(region.height);
  std::byte* out = arena.Allocate(bytes);
  const std::byte* from = cell.data + (region.top * width + region.left) * pixel_bytes;
  for (int64_t y = 0; y < region.height; ++y, from += width * pixel_bytes) {
    std::memcpy(out + static_cast<size_t>(y) * row_bytes, from, row_bytes);
  }
  cell = {out, bytes, Shape{region.height, region.width, channels}};
}

void ResampleCell(Cell& cell, DType dtype, const Box& box, ResampleMethod method,
                  const ImageSize& to, Arena& arena) {
  const Shape shape{to.height, to.width, cell.shape[2]};
  const size_t bytes = static_cast<size_t>(shape.items()) * ItemSize(dtype);
  std::byte* out = arena.Allocate(bytes);
  if (dtype == DType::kUInt8) {
    Resample(ViewOf(cell), box, method, to.height, to.width, reinterpret_cast<uint8_t*>(out));
  } else {
    const FloatImageView view{cell.as<float>().data(), cell.shape[0], cell.shape[1], cell.shape[2]};
    Resample(view, box, method, to.height, to.width, reinterpret_cast<float*>(out));
  }
  cell = {out, bytes, shape};
}

}  // namespace headrace
