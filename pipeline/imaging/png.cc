#include <spng.h>

#include <memory>

#include "common/status.h"
#include "pipeline/imaging/codecs.h"
#include "pipeline/imaging/scratch.h"

namespace headrace {
namespace {

// One chunk of metadata may be this big, and all kept ones together: libspng's own advice for files
// from outside.
constexpr size_t kMaxChunkBytes = 64 << 20;

struct FreeContext {
  void operator()(spng_ctx* context) const { spng_ctx_free(context); }
};
using Context = std::unique_ptr<spng_ctx, FreeContext>;

absl::Status PngError(int code, std::string_view bytes) {
  if (code == SPNG_EMEM) return ResourceExhausted("PNG: no memory to decode it");
  if (code == SPNG_IO_EOF || code == SPNG_EOF) {
    return DataLoss("PNG ends early: its {} bytes are read and pixels are missing", bytes.size());
  }
  return DataLoss("PNG of {} bytes is damaged: {}", bytes.size(), spng_strerror(code));
}

absl::StatusOr<Context> Open(std::string_view bytes) {
  Context context(spng_ctx_new(0));
  if (context == nullptr) return PngError(SPNG_EMEM, bytes);
  spng_set_crc_action(context.get(), SPNG_CRC_ERROR, SPNG_CRC_DISCARD);
  spng_set_chunk_limits(context.get(), kMaxChunkBytes, kMaxChunkBytes);
  if (int code = spng_set_png_buffer(context.get(), bytes.data(), bytes.size()))
    return PngError(code, bytes);
  return context;
}

absl::StatusOr<spng_ihdr> ReadHeader(spng_ctx* context, std::string_view bytes) {
  spng_ihdr header;
  if (int code = spng_get_ihdr(context, &header)) return PngError(code, bytes);
  return header;
}

ImageHeader Describe(const spng_ihdr& ihdr) {
  ImageHeader out{ImageFormat::kPng, ihdr.height, ihdr.width, 3};
  if (ihdr.color_type == SPNG_COLOR_TYPE_GRAYSCALE) out.channels = 1;
  if (ihdr.color_type == SPNG_COLOR_TYPE_GRAYSCALE_ALPHA) out.channels = 2;
  if (ihdr.color_type == SPNG_COLOR_TYPE_TRUECOLOR_ALPHA) out.channels = 4;
  return out;
}

}  // namespace

absl::StatusOr<ImageHeader> PeekPng(std::string_view bytes) {
  HR_ASSIGN_OR_RETURN(Context context, Open(bytes));
  HR_ASSIGN_OR_RETURN(const spng_ihdr ihdr, ReadHeader(context.get(), bytes));
  return Describe(ihdr);
}

absl::StatusOr<DecodedImage> DecodePng(std::string_view bytes, const DecodeOptions& options,
                                       PixelAllocator allocate) {
  HR_ASSIGN_OR_RETURN(Context context, Open(bytes));
  HR_ASSIGN_OR_RETURN(const spng_ihdr ihdr, ReadHeader(context.get(), bytes));
  HR_RETURN_IF_ERROR(CheckPixels(Describe(ihdr), options.max_pixels));
  const size_t pixels = size_t{ihdr.width} * ihdr.height;

  // libspng gives 8-bit grey only for grey files without alpha of up to 8 bits; the rest passes
  // through RGB.
  const bool as_grey =
      options.channels == 1 && ihdr.color_type == SPNG_COLOR_TYPE_GRAYSCALE && ihdr.bit_depth <= 8;
  auto* out = reinterpret_cast<uint8_t*>(allocate(pixels * static_cast<size_t>(options.channels)));
  uint8_t* decoded = out;
  if (options.channels == 1 && !as_grey) {
    decoded = reinterpret_cast<uint8_t*>(ThreadScratch(ScratchUse::kDecoderRows).Get(pixels * 3));
  }
  const size_t decoded_bytes = as_grey ? pixels : pixels * 3;
  if (int code = spng_decode_image(context.get(), decoded, decoded_bytes,
                                   as_grey ? SPNG_FMT_G8 : SPNG_FMT_RGB8, 0)) {
    return PngError(code, bytes);
  }
  if (decoded != out) RgbToGrey(decoded, static_cast<int64_t>(pixels), out);
  return DecodedImage{{out, ihdr.height, ihdr.width, options.channels}};
}

}  // namespace headrace
