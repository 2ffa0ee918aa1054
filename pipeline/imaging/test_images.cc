#include "pipeline/imaging/test_images.h"

#include <cstdio>
#include <cstdlib>
// jpeglib.h wants size_t and FILE to be there already.
#include <jpeglib.h>
#include <spng.h>
#include <webp/encode.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <random>

namespace headrace {

TestImage MakePicture(int64_t height, int64_t width, int64_t channels) {
  TestImage out{height, width, channels,
                std::vector<uint8_t>(static_cast<size_t>(height * width * channels))};
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      const double u = static_cast<double>(x) / static_cast<double>(width);
      const double v = static_cast<double>(y) / static_cast<double>(height);
      for (int64_t c = 0; c < channels; ++c) {
        const auto k = static_cast<double>(c);
        double value =
            110 + 70 * std::sin(9 * u + 3 * k) * std::cos(7 * v - k) + 40 * u - 25 * v * k;
        if ((x / 23 + y / 31) % 4 == c % 4) value += 35;
        out.pixels[static_cast<size_t>((y * width + x) * channels + c)] =
            static_cast<uint8_t>(std::clamp(value, 0.0, 255.0));
      }
    }
  }
  return out;
}

TestImage MakeNoise(int64_t height, int64_t width, int64_t channels, uint32_t seed) {
  TestImage out{height, width, channels,
                std::vector<uint8_t>(static_cast<size_t>(height * width * channels))};
  std::mt19937 random(seed);
  for (uint8_t& p : out.pixels) p = static_cast<uint8_t>(random() >> 24);
  return out;
}

std::string EncodeJpeg(const ImageView& image, const JpegForm& form) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);  // prints and exits: fit for a test
  jpeg_create_compress(&info);
  unsigned char* data = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &data, &size);
  info.image_width = static_cast<JDIMENSION>(image.width);
  info.image_height = static_cast<JDIMENSION>(image.height);
  info.input_components = static_cast<int>(image.channels);
  info.in_color_space = image.channels == 1   ? JCS_GRAYSCALE
                        : image.channels == 3 ? JCS_RGB
                                              : JCS_CMYK;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, form.quality, TRUE);
  if (image.channels == 3) {
    info.comp_info[0].h_samp_factor = form.horizontal;
    info.comp_info[0].v_samp_factor = form.vertical;
  }
  if (form.progressive) jpeg_simple_progression(&info);
  info.restart_interval = static_cast<unsigned>(form.restart_interval);
  info.optimize_coding = form.own_tables ? TRUE : FALSE;
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    auto* row = const_cast<uint8_t*>(image.row(info.next_scanline));
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::string out(reinterpret_cast<char*>(data), size);
  std::free(data);
  return out;
}

std::string EncodePng(const ImageView& image) {
  spng_ctx* context = spng_ctx_new(SPNG_CTX_ENCODER);
  spng_set_option(context, SPNG_ENCODE_TO_BUFFER, 1);
  spng_ihdr header{};
  header.width = static_cast<uint32_t>(image.width);
  header.height = static_cast<uint32_t>(image.height);
  header.bit_depth = 8;
  header.color_type = image.channels == 1   ? SPNG_COLOR_TYPE_GRAYSCALE
                      : image.channels == 3 ? SPNG_COLOR_TYPE_TRUECOLOR
                                            : SPNG_COLOR_TYPE_TRUECOLOR_ALPHA;
  spng_set_ihdr(context, &header);
  int code = spng_encode_image(context, image.data, static_cast<size_t>(image.bytes()),
                               SPNG_FMT_PNG, SPNG_ENCODE_FINALIZE);
  size_t size = 0;
  void* data = spng_get_png_buffer(context, &size, &code);
  std::string out(static_cast<char*>(data), size);
  std::free(data);
  spng_ctx_free(context);
  return out;
}

std::string EncodeWebpLossless(const ImageView& rgb) {
  uint8_t* data = nullptr;
  const size_t size =
      WebPEncodeLosslessRGB(rgb.data, static_cast<int>(rgb.width), static_cast<int>(rgb.height),
                            static_cast<int>(rgb.row_bytes()), &data);
  std::string out(reinterpret_cast<char*>(data), size);
  WebPFree(data);
  return out;
}

double MeanAbsoluteDifference(const ImageView& a, const ImageView& b) {
  assert(a.bytes() == b.bytes() && a.bytes() > 0);
  int64_t sum = 0;
  for (int64_t i = 0; i < a.bytes(); ++i) sum += std::abs(a.data[i] - b.data[i]);
  return static_cast<double>(sum) / static_cast<double>(a.bytes());
}

int MaxAbsoluteDifference(const ImageView& a, const ImageView& b) {
  assert(a.bytes() == b.bytes());
  int most = 0;
  for (int64_t i = 0; i < a.bytes(); ++i) most = std::max(most, std::abs(a.data[i] - b.data[i]));
  return most;
}

}  // namespace headrace
