// Gaussian blur as torchvision.transforms.functional.gaussian_blur defines it: a kernel of `size`
// taps sampled from the bell curve, weights in float32, edges mirrored without the edge pixel,
// uint8 rounded to the nearest level (one level from torchvision's at most: rows and columns are
// two passes here, one there).
//
// Thread-safe; scratch memory belongs to the thread. Cannot fail.
#pragma once

#include <cstdint>
#include <span>

#include "pipeline/imaging/image.h"

namespace headrace {

// Fills `out`, of an odd size, with weights that add up to 1. sigma > 0.
void GaussianWeights(double sigma, std::span<float> out);

// Half a kernel must be shorter than the side it runs along: weights.size() / 2 < side. `out` never
// overlaps `in`.
void Blur(const ImageView& in, std::span<const float> down, std::span<const float> across,
          uint8_t* out);
void Blur(const float* in, int64_t height, int64_t width, int64_t channels,
          std::span<const float> down, std::span<const float> across, float* out);

}  // namespace headrace
