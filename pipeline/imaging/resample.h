// Antialiased resizing of a part of an image: what Pillow's Image.resize(size, method, box)
// defines, within one level
// (two for less than one value in a thousand).
//
// Each output pixel is a weighted mean of the input pixels under a filter that widens with the
// reduction, so nothing aliases. Pixels outside the box but inside the image take part where the
// filter reaches over the box's edge, as in Pillow; nothing outside the image does. Separable: rows
// and columns are two passes, in the order that costs less. Fixed point (14 bits) for uint8, the
// same result on any processor; why own code: docs/design/010-image-resampling.md.
//
// Thread-safe; scratch memory belongs to the thread. Cannot fail: sizes are the caller's to check.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "pipeline/imaging/image.h"

namespace headrace {

enum class ResampleMethod {
  kBilinear,  // triangle, reaches 1 input pixel (times the reduction)
  kBicubic,   // Keys' cubic with a = -0.5, reaches 2
};

// "bilinear" or "bicubic"; INVALID_ARGUMENT that names both.
absl::StatusOr<ResampleMethod> ParseResampleMethod(std::string_view name);

// How far the filter reaches over the edge of a box of `box_size` that becomes `out_size`, in input
// pixels.
double FilterReach(ResampleMethod method, double box_size, int64_t out_size);

// `box` must lie inside the image and not be empty; `out` has room for out_height * out_width *
// in.channels.
void Resample(const ImageView& in, const Box& box, ResampleMethod method, int64_t out_height,
              int64_t out_width, uint8_t* out);

// The same for float32 pixels of any number of channels.
struct FloatImageView {
  const float* data = nullptr;
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 3;
};
void Resample(const FloatImageView& in, const Box& box, ResampleMethod method, int64_t out_height,
              int64_t out_width, float* out);

}  // namespace headrace
