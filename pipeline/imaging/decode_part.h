// A part of a compressed image, at once: only the blocks of a JPEG that the part needs are
// transformed, at the coarsest of the decoder's scales that still has all the pixels the result
// needs, and what is decoded never leaves the thread's scratch. Other kinds are decoded whole.
// Errors as DecodeImage's; the same verdict on a damaged file, except that damage (not a cut) below
// the part may go unseen.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "pipeline/imaging/decode.h"
#include "pipeline/imaging/resample.h"

namespace headrace {

// DecodeOptions::scale_eighths for a region of height x width that will become out_height x
// out_width: 1, 2, 4 or 8. (The other eighths cost more than a whole decode;
// docs/design/010-image-resampling.md.)
int CoarsestScale(int64_t height, int64_t width, int64_t out_height, int64_t out_width);

struct PartOptions {
  int64_t channels = 3;
  int64_t max_pixels = kDefaultMaxPixels;
};

// Exactly the pixels that a whole decode has in `region`.
absl::StatusOr<ImageView> DecodeRegion(std::string_view bytes, const Region& region,
                                       const PartOptions& options, PixelAllocator allocate);

// `region`, resampled as Resample(whole image, BoxOf(region), ...) would; the same bytes at scale
// 8, close at coarser ones.
absl::StatusOr<ImageView> DecodeRegionResampled(std::string_view bytes, const Region& region,
                                                ResampleMethod method, int64_t out_height,
                                                int64_t out_width, const PartOptions& options,
                                                PixelAllocator allocate);

}  // namespace headrace
