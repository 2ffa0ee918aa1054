#include "pipeline/ops/image_crop.h"

#include <algorithm>
#include <cmath>

#include "common/status.h"

namespace headrace {
namespace {

// Half of a difference, halves to even: Python's round().
int64_t HalfToEven(int64_t difference) {
  return (difference + ((difference / 2) % 2 != 0 ? 1 : 0)) / 2;
}

// Python's round() of a positive number.
int64_t Round(double x) { return static_cast<int64_t>(std::nearbyint(x)); }

absl::Status TooSmall(int64_t height, int64_t width, const ImageSize& size) {
  return InvalidArgument(
      "image of {} x {} is smaller than the crop of {} x {} (height x width); resize it first",
      height, width, size.height, size.width);
}

}  // namespace

absl::StatusOr<Region> CenterRegion(int64_t height, int64_t width, const ImageSize& size) {
  if (height < size.height || width < size.width) return TooSmall(height, width, size);
  return Region{HalfToEven(width - size.width), HalfToEven(height - size.height), size.width,
                size.height};
}

absl::StatusOr<Region> RandomRegion(int64_t height, int64_t width, const ImageSize& size,
                                    int64_t pad, RandomStream& random) {
  const int64_t high = height + 2 * pad - size.height, wide = width + 2 * pad - size.width;
  if (high < 0 || wide < 0) return TooSmall(height + 2 * pad, width + 2 * pad, size);
  const auto top = static_cast<int64_t>(random.Below(static_cast<uint64_t>(high) + 1));
  const auto left = static_cast<int64_t>(random.Below(static_cast<uint64_t>(wide) + 1));
  return Region{left - pad, top - pad, size.width, size.height};
}

Region ResizedCropRule::Draw(int64_t height, int64_t width, RandomStream& random) const {
  const double area = static_cast<double>(height * width);
  const double log_low = std::log(ratio_low), log_high = std::log(ratio_high);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double target = area * random.Uniform(scale_low, scale_high);
    const double ratio = std::exp(random.Uniform(log_low, log_high));
    const int64_t w = Round(std::sqrt(target * ratio)), h = Round(std::sqrt(target / ratio));
    if (w <= 0 || w > width || h <= 0 || h > height) continue;
    const auto top = static_cast<int64_t>(random.Below(static_cast<uint64_t>(height - h) + 1));
    const auto left = static_cast<int64_t>(random.Below(static_cast<uint64_t>(width - w) + 1));
    return {left, top, w, h};
  }
  int64_t w = width, h = height;
  const double ratio = static_cast<double>(width) / static_cast<double>(height);
  if (ratio < ratio_low)
    h = std::clamp<int64_t>(Round(static_cast<double>(w) / ratio_low), 1, height);
  if (ratio > ratio_high)
    w = std::clamp<int64_t>(Round(static_cast<double>(h) * ratio_high), 1, width);
  return {(width - w) / 2, (height - h) / 2, w, h};
}

absl::StatusOr<ResizedCropRule> ParseResizedCropRule(const std::vector<double>& scale,
                                                     const std::vector<double>& ratio) {
  if (scale.size() != 2 || !(scale[0] > 0) || !(scale[0] <= scale[1]) || !(scale[1] <= 1)) {
    return InvalidArgument("scale: expected [low, high] with 0 < low <= high <= 1");
  }
  if (ratio.size() != 2 || !(ratio[0] > 0) || !(ratio[0] <= ratio[1]) || !std::isfinite(ratio[1])) {
    return InvalidArgument("ratio: expected [low, high] with 0 < low <= high, as width / height");
  }
  return ResizedCropRule{scale[0], scale[1], ratio[0], ratio[1]};
}

}  // namespace headrace
