#include <webp/decode.h>

#include "common/status.h"
#include "pipeline/imaging/codecs.h"
#include "pipeline/imaging/scratch.h"

namespace headrace {
namespace {

absl::Status WebpError(VP8StatusCode code, std::string_view bytes) {
  switch (code) {
    case VP8_STATUS_OUT_OF_MEMORY:
      return ResourceExhausted("WebP: no memory to decode it");
    case VP8_STATUS_NOT_ENOUGH_DATA:
    case VP8_STATUS_SUSPENDED:
      return DataLoss("WebP ends early: its {} bytes are read and pixels are missing",
                      bytes.size());
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      return Unimplemented("WebP of {} bytes uses a feature that libwebp does not decode",
                           bytes.size());
    default:
      return DataLoss("WebP of {} bytes is damaged (libwebp status {})", bytes.size(),
                      static_cast<int>(code));
  }
}

}  // namespace

absl::StatusOr<ImageHeader> PeekWebp(std::string_view bytes) {
  WebPBitstreamFeatures features;
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  if (VP8StatusCode code = WebPGetFeatures(data, bytes.size(), &features); code != VP8_STATUS_OK) {
    return WebpError(code, bytes);
  }
  if (features.has_animation) return Unimplemented("animated WebP: only still images are decoded");
  return ImageHeader{ImageFormat::kWebp, features.height, features.width,
                     features.has_alpha ? 4 : 3};
}

absl::StatusOr<DecodedImage> DecodeWebp(std::string_view bytes, const DecodeOptions& options,
                                        PixelAllocator allocate) {
  HR_ASSIGN_OR_RETURN(const ImageHeader header, PeekWebp(bytes));
  HR_RETURN_IF_ERROR(CheckPixels(header, options.max_pixels));
  const auto pixels = static_cast<size_t>(header.height * header.width);

  auto* out = reinterpret_cast<uint8_t*>(allocate(pixels * static_cast<size_t>(options.channels)));
  uint8_t* rgb = out;
  if (options.channels == 1) {
    rgb = reinterpret_cast<uint8_t*>(ThreadScratch(ScratchUse::kDecoderRows).Get(pixels * 3));
  }
  WebPDecoderConfig config;
  if (!WebPInitDecoderConfig(&config)) return Internal("libwebp has another ABI than its header");
  config.output.colorspace = MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA = {rgb, static_cast<int>(header.width * 3), pixels * 3};
  const VP8StatusCode code =
      WebPDecode(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), &config);
  WebPFreeDecBuffer(&config.output);
  if (code != VP8_STATUS_OK) return WebpError(code, bytes);
  if (rgb != out) RgbToGrey(rgb, static_cast<int64_t>(pixels), out);
  return DecodedImage{{out, header.height, header.width, options.channels}};
}

}  // namespace headrace
