// The decoders behind decode.h, one per kind, each alone in its file with the library it wraps. Not
// for other rooms.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "pipeline/imaging/decode.h"

namespace headrace {

absl::StatusOr<ImageHeader> PeekJpeg(std::string_view bytes);
absl::StatusOr<DecodedImage> DecodeJpeg(std::string_view bytes, const DecodeOptions& options,
                                        PixelAllocator allocate);

absl::StatusOr<ImageHeader> PeekPng(std::string_view bytes);
absl::StatusOr<DecodedImage> DecodePng(std::string_view bytes, const DecodeOptions& options,
                                       PixelAllocator allocate);

absl::StatusOr<ImageHeader> PeekWebp(std::string_view bytes);
absl::StatusOr<DecodedImage> DecodeWebp(std::string_view bytes, const DecodeOptions& options,
                                        PixelAllocator allocate);

// OUT_OF_RANGE that names the limit, or OK.
absl::Status CheckPixels(const ImageHeader& header, int64_t max_pixels);

// RGB -> grey with the weights of ITU-R BT.601 (what JPEG's Y is, and Pillow's mode L). In place is
// allowed.
void RgbToGrey(const uint8_t* rgb, int64_t pixels, uint8_t* grey);

}  // namespace headrace
