// Changes of colour, as torchvision.transforms.functional defines them for tensors: the same
// arithmetic in float32, cut (not rounded) to a level for uint8, within 0 to 255; float32 pixels
// are 0 to 1. The same values but for the odd level where a mean is summed in another order.
//
// T is uint8_t or float. Pixels have 1 or 3 interleaved channels. `out` may be `in`. Thread-safe,
// cannot fail.
#pragma once

#include <cstdint>

namespace headrace {

// Towards black (0) or brighter (above 1).
template <typename T>
void AdjustBrightness(const T* in, int64_t items, double factor, T* out);

// Towards the mean grey of the image.
template <typename T>
void AdjustContrast(const T* in, int64_t pixels, int64_t channels, double factor, T* out);

// Towards each pixel's grey. RGB only.
template <typename T>
void AdjustSaturation(const T* in, int64_t pixels, double factor, T* out);

// Turns the hue by `shift` of the circle, -0.5 to 0.5. RGB only.
template <typename T>
void AdjustHue(const T* in, int64_t pixels, double shift, T* out);

// RGB -> grey of ITU-R 601, in one channel or the same in three. `out` may be `in` when it has
// three.
template <typename T>
void ToGrey(const T* in, int64_t pixels, int64_t out_channels, T* out);

}  // namespace headrace
