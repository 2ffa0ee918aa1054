// What happens to pixels that keep their place: to float with mean and deviation taken out, another
// layout, mirrored. One pass over the pixels each; the same bytes on any processor. Thread-safe,
// cannot fail; `out` never overlaps `in`.
#pragma once

#include <cstdint>
#include <span>

#include "pipeline/imaging/image.h"

namespace headrace {

enum class Layout { kHwc, kChw };

// How results go to memory. kStreamed: past the caches, for what fills them many times over and is
// not read here soon (a batch): memory is not read before it is written. A wish: taken where the
// processor and the alignment allow.
enum class Stores { kCached, kStreamed };

// out = in * factor[c] + offset[c]; factor and offset have as many items as a pixel has channels.
// For (x * scale - mean) / std: factor = scale / std, offset = -mean / std.
void ScalePixels(const uint8_t* in, int64_t pixels, std::span<const float> factor,
                 std::span<const float> offset, Layout layout, float* out,
                 Stores stores = Stores::kCached);
void ScalePixels(const float* in, int64_t pixels, std::span<const float> factor,
                 std::span<const float> offset, Layout layout, float* out,
                 Stores stores = Stores::kCached);

// HWC -> CHW.
void PixelsToPlanes(const uint8_t* in, int64_t pixels, int64_t channels, uint8_t* out);
void PixelsToPlanes(const float* in, int64_t pixels, int64_t channels, float* out);

// Mirror images. `pixel_bytes` = channels * bytes per item.
void FlipHorizontal(const std::byte* in, int64_t height, int64_t width, int64_t pixel_bytes,
                    std::byte* out);
void FlipVertical(const std::byte* in, int64_t height, int64_t row_bytes, std::byte* out);

}  // namespace headrace
