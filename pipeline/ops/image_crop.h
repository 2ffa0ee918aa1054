// Which part of an image a crop step takes. The step on decoded pixels and the fused one on
// compressed bytes ask the same rule with the same numbers, so they take the same part.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/graph/random.h"
#include "pipeline/imaging/image.h"
#include "pipeline/ops/image_field.h"

namespace headrace {

// The middle. INVALID_ARGUMENT when the image is smaller than `size`. Halves are rounded to even,
// as in torchvision.
absl::StatusOr<Region> CenterRegion(int64_t height, int64_t width, const ImageSize& size);

// Anywhere in the image with `pad` pixels added on each side: the region may reach over the edges
// by so much.
absl::StatusOr<Region> RandomRegion(int64_t height, int64_t width, const ImageSize& size,
                                    int64_t pad, RandomStream& random);

// torchvision's RandomResizedCrop.get_params: up to ten draws of an area (uniform in `scale`, of
// the whole) and an aspect ratio (log-uniform in `ratio`), then a place; failing all, the middle at
// the nearest ratio that is allowed.
struct ResizedCropRule {
  double scale_low = 0.08, scale_high = 1.0;
  double ratio_low = 3.0 / 4.0, ratio_high = 4.0 / 3.0;

  Region Draw(int64_t height, int64_t width, RandomStream& random) const;
};
// From two lists of two numbers; INVALID_ARGUMENT names the list.
absl::StatusOr<ResizedCropRule> ParseResizedCropRule(const std::vector<double>& scale,
                                                     const std::vector<double>& ratio);

}  // namespace headrace
