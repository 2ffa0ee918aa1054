#include "pipeline/imaging/decode_part.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "common/status.h"
#include "pipeline/imaging/scratch.h"

namespace headrace {
namespace {

absl::StatusOr<DecodedImage> DecodeToScratch(std::string_view bytes, const Region& region,
                                             int scale_eighths, const PartOptions& part) {
  DecodeOptions options;
  options.channels = part.channels;
  options.max_pixels = part.max_pixels;
  options.region = region;
  options.scale_eighths = scale_eighths;
  return DecodeImage(bytes, options, [](size_t size) {
    return ThreadScratch(ScratchUse::kDecodedPixels).Get(size);
  });
}

}  // namespace

int CoarsestScale(int64_t height, int64_t width, int64_t out_height, int64_t out_width) {
  for (int m : {1, 2, 4}) {
    if (height * m >= out_height * 8 && width * m >= out_width * 8) return m;
  }
  return 8;
}

absl::StatusOr<ImageView> DecodeRegion(std::string_view bytes, const Region& region,
                                       const PartOptions& options, PixelAllocator allocate) {
  HR_ASSIGN_OR_RETURN(const DecodedImage decoded, DecodeToScratch(bytes, region, 8, options));
  const auto row_bytes = static_cast<size_t>(region.width * options.channels);
  auto* out = reinterpret_cast<uint8_t*>(allocate(row_bytes * static_cast<size_t>(region.height)));
  for (int64_t y = 0; y < region.height; ++y) {
    std::memcpy(out + static_cast<size_t>(y) * row_bytes,
                decoded.pixels.row(region.top - decoded.top + y) +
                    (region.left - decoded.left) * options.channels,
                row_bytes);
  }
  return ImageView{out, region.height, region.width, options.channels};
}

absl::StatusOr<ImageView> DecodeRegionResampled(std::string_view bytes, const Region& region,
                                                ResampleMethod method, int64_t out_height,
                                                int64_t out_width, const PartOptions& options,
                                                PixelAllocator allocate) {
  HR_ASSIGN_OR_RETURN(const ImageHeader header, PeekImage(bytes));
  const int scale = CoarsestScale(region.height, region.width, out_height, out_width);
  // Around the region: what the filter reaches, in pixels of the scaled image, then of the whole
  // one.
  const double shrink = scale / 8.0;
  const auto around = [&](int64_t size, int64_t out) {
    return static_cast<int64_t>(
               std::ceil(FilterReach(method, static_cast<double>(size) * shrink, out) / shrink)) +
           1;
  };
  const int64_t x = around(region.width, out_width), y = around(region.height, out_height);
  Region needed{std::max<int64_t>(region.left - x, 0), std::max<int64_t>(region.top - y, 0), 0, 0};
  needed.width = std::min(region.right() + x, header.width) - needed.left;
  needed.height = std::min(region.bottom() + y, header.height) - needed.top;

  HR_ASSIGN_OR_RETURN(const DecodedImage decoded, DecodeToScratch(bytes, needed, scale, options));
  const double factor = decoded.scale_eighths / 8.0;
  const auto left = static_cast<double>(decoded.left), top = static_cast<double>(decoded.top);
  const Box whole = BoxOf(region);
  const Box box{whole.left * factor - left, whole.top * factor - top, whole.right * factor - left,
                whole.bottom * factor - top};
  auto* out = reinterpret_cast<uint8_t*>(
      allocate(static_cast<size_t>(out_height * out_width * options.channels)));
  Resample(decoded.pixels, box, method, out_height, out_width, out);
  return ImageView{out, out_height, out_width, options.channels};
}

}  // namespace headrace
