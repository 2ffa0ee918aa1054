// Compressed image -> pixels, by contents (never by file name): JPEG (libjpeg-turbo), PNG
// (libspng), WebP (libwebp).
//
// What comes out is uint8, HWC, RGB or grey, in the orientation in which it is stored: an EXIF
// orientation tag is NOT applied. Alpha is dropped (not blended with a background), 16-bit samples
// keep their high byte, palettes are looked up, CMYK and YCCK become RGB (inverted where Adobe's
// marker says so). Colour profiles are ignored.
//
// Thread-safe; no state between calls. Damaged bytes never give pixels: a JPEG whose data ends
// early, or whose entropy code is broken, is an error although libjpeg would fill the rest with
// grey.
//
// Errors: INVALID_ARGUMENT (no image of a known kind; says what was found), DATA_LOSS (damaged or
// cut off; says where), OUT_OF_RANGE (over max_pixels), UNIMPLEMENTED (animated WebP). No message
// names the file: the caller knows it.
#pragma once

#include <optional>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "pipeline/imaging/image.h"

namespace headrace {

enum class ImageFormat { kJpeg, kPng, kWebp };
std::string_view Name(ImageFormat format);

// Twice as many pixels as fit 512 MiB of RGB: the bound above which Pillow refuses an image as a
// decompression bomb.
inline constexpr int64_t kDefaultMaxPixels = 178'956'970;

struct ImageHeader {
  ImageFormat format = ImageFormat::kJpeg;
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels =
      0;  // as stored: 1 grey, 2 grey and alpha, 3 colour or palette, 4 CMYK or colour and alpha
};

struct DecodeOptions {
  int64_t channels = 3;  // of the output: 1 or 3
  int64_t max_pixels = kDefaultMaxPixels;
  // The part that the caller needs, in pixels of the whole image; must lie inside it. A decoder may
  // give more around it (JPEG: rows are skipped, columns cut at blocks; PNG and WebP give the whole
  // image).
  std::optional<Region> region = std::nullopt;
  // JPEG only, 1, 2, 4 or 8: decode at scale_eighths / 8 of the size, inside the inverse DCT; at
  // twice that where chroma would fall short of it (4:2:2). Other kinds ignore it.
  int scale_eighths = 8;
  // JPEG only: false leaves the entropy code to libjpeg. The result is the same, only slower to
  // come; for who wants to compare.
  bool own_entropy_decoder = true;
};

// Where the decoder writes: called once, with the bytes it needs; what it returns must not be null.
using PixelAllocator = absl::FunctionRef<std::byte*(size_t bytes)>;

struct DecodedImage {
  ImageView pixels;  // what the allocator gave
  int64_t left = 0;  // of pixel (0, 0) in the whole image at the scale used
  int64_t top = 0;
  int scale_eighths = 8;             // the scale used; 8 where the kind has none
  bool own_entropy_decoder = false;  // a JPEG whose entropy code needed no help from libjpeg
};

// Size and kind from the first bytes; decodes no pixels.
absl::StatusOr<ImageHeader> PeekImage(std::string_view bytes);

absl::StatusOr<DecodedImage> DecodeImage(std::string_view bytes, const DecodeOptions& options,
                                         PixelAllocator allocate);

}  // namespace headrace
