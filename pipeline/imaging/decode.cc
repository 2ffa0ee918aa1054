#include "pipeline/imaging/decode.h"

#include <cstring>

#include "common/status.h"
#include "pipeline/imaging/codecs.h"

namespace headrace {
namespace {

bool StartsWith(std::string_view bytes, std::string_view magic) {
  return bytes.substr(0, magic.size()) == magic;
}

// What the bytes look like, for the message of somebody who pointed decode_image at the wrong
// field.
std::string Describe(std::string_view bytes) {
  if (StartsWith(bytes, "GIF8")) return "a GIF";
  if (StartsWith(bytes, "BM")) return "a BMP";
  if (StartsWith(bytes, std::string_view("II*\0", 4)) ||
      StartsWith(bytes, std::string_view("MM\0*", 4))) {
    return "a TIFF";
  }
  if (bytes.size() >= 12 && bytes.substr(4, 4) == "ftyp") return "an AVIF, HEIC or MP4";
  std::string start;
  bool text = true;
  for (unsigned char c : bytes.substr(0, 16)) {
    text = text && (c == '\t' || c == '\n' || c == '\r' || (c >= 0x20 && c != 0x7f));
  }
  if (text) {
    for (char c : bytes.substr(0, 16)) start += c == '\n' || c == '\r' || c == '\t' ? ' ' : c;
    return fmt::format("text that starts with '{}'", start);
  }
  for (unsigned char c : bytes.substr(0, 8))
    start += fmt::format("{}{:02x}", start.empty() ? "" : " ", c);
  return fmt::format("bytes that start with {}", start);
}

absl::StatusOr<ImageFormat> FormatOf(std::string_view bytes) {
  if (bytes.empty()) return InvalidArgument("no image: the field holds zero bytes");
  if (StartsWith(bytes, "\xff\xd8\xff")) return ImageFormat::kJpeg;
  if (StartsWith(bytes, "\x89PNG\r\n\x1a\n")) return ImageFormat::kPng;
  if (bytes.size() >= 12 && StartsWith(bytes, "RIFF") && bytes.substr(8, 4) == "WEBP")
    return ImageFormat::kWebp;
  return InvalidArgument("not a JPEG, PNG or WebP image: {} bytes found, {}", bytes.size(),
                         Describe(bytes));
}

}  // namespace

std::string_view Name(ImageFormat format) {
  switch (format) {
    case ImageFormat::kJpeg:
      return "JPEG";
    case ImageFormat::kPng:
      return "PNG";
    case ImageFormat::kWebp:
      return "WebP";
  }
  return "?";
}

absl::Status CheckPixels(const ImageHeader& header, int64_t max_pixels) {
  // No format allows more than 2^31 a side, so the product fits.
  const int64_t pixels = header.width * header.height;
  if (pixels <= max_pixels) return absl::OkStatus();
  return OutOfRange(
      "{} of {} x {} = {} pixels is over the limit max_pixels = {}; raise max_pixels if such "
      "images are meant",
      Name(header.format), header.width, header.height, pixels, max_pixels);
}

void RgbToGrey(const uint8_t* rgb, int64_t pixels, uint8_t* grey) {
  // 0.299, 0.587, 0.114 in 16 bits.
  for (int64_t i = 0; i < pixels; ++i, rgb += 3) {
    grey[i] =
        static_cast<uint8_t>((19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2] + 0x8000u) >> 16);
  }
}

absl::StatusOr<ImageHeader> PeekImage(std::string_view bytes) {
  HR_ASSIGN_OR_RETURN(const ImageFormat format, FormatOf(bytes));
  switch (format) {
    case ImageFormat::kJpeg:
      return PeekJpeg(bytes);
    case ImageFormat::kPng:
      return PeekPng(bytes);
    case ImageFormat::kWebp:
      return PeekWebp(bytes);
  }
  return Internal("image format {}", static_cast<int>(format));
}

absl::StatusOr<DecodedImage> DecodeImage(std::string_view bytes, const DecodeOptions& options,
                                         PixelAllocator allocate) {
  HR_ASSIGN_OR_RETURN(const ImageFormat format, FormatOf(bytes));
  switch (format) {
    case ImageFormat::kJpeg:
      return DecodeJpeg(bytes, options, allocate);
    case ImageFormat::kPng:
      return DecodePng(bytes, options, allocate);
    case ImageFormat::kWebp:
      return DecodeWebp(bytes, options, allocate);
  }
  return Internal("image format {}", static_cast<int>(format));
}

}  // namespace headrace
