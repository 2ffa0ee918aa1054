// Images that tests make themselves, by the encoders of the libraries that decode them. No binary
// links this.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pipeline/imaging/image.h"

namespace headrace {

// Owns pixels.
struct TestImage {
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 3;
  std::vector<uint8_t> pixels;

  ImageView view() const { return {pixels.data(), height, width, channels}; }
};

// A smooth picture with edges, different in every channel and asymmetric: flips, shifts and swapped
// channels show.
TestImage MakePicture(int64_t height, int64_t width, int64_t channels = 3);
// Independent random bytes.
TestImage MakeNoise(int64_t height, int64_t width, int64_t channels, uint32_t seed);

struct JpegForm {
  int quality = 90;
  int horizontal = 2;  // luma sampling factors: 2x2 is 4:2:0, 2x1 is 4:2:2, 1x1 is 4:4:4
  int vertical = 2;
  bool progressive = false;
  int restart_interval = 0;  // in MCUs
  bool own_tables = false;   // Huffman tables made for this picture, as most photographs have
};
// channels 1: greyscale JPEG; 3: YCbCr; 4: CMYK as Adobe writes it (values inverted, Adobe marker).
std::string EncodeJpeg(const ImageView& image, const JpegForm& form = {});
// 8-bit; channels 1, 3 or 4 (RGBA).
std::string EncodePng(const ImageView& image);
std::string EncodeWebpLossless(const ImageView& rgb);

double MeanAbsoluteDifference(const ImageView& a, const ImageView& b);
int MaxAbsoluteDifference(const ImageView& a, const ImageView& b);

}  // namespace headrace
