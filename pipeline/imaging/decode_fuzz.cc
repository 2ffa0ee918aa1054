// Whatever the bytes: pixels of the size that was announced, or an error; never a read or write out
// of bounds. Half of the inputs are image files that this program makes itself, with some bytes
// overwritten, so that the decoders are reached from the first second on.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "pipeline/imaging/decode.h"
#include "pipeline/imaging/decode_part.h"
#include "pipeline/imaging/test_images.h"

namespace headrace {
namespace {

std::vector<std::string> Seeds() {
  const TestImage rgb = MakePicture(37, 45), grey = MakePicture(20, 17, 1),
                  four = MakePicture(18, 33, 4);
  return {EncodeJpeg(rgb.view(), {.quality = 60}),
          EncodeJpeg(rgb.view(),
                     {.quality = 60, .horizontal = 1, .vertical = 1, .restart_interval = 2}),
          EncodeJpeg(rgb.view(), {.quality = 60, .horizontal = 2, .vertical = 1}),
          EncodeJpeg(rgb.view(), {.quality = 60, .progressive = true}),
          EncodeJpeg(grey.view(), {.quality = 60}),
          EncodeJpeg(four.view(), {.quality = 60}),
          EncodeJpeg(rgb.view(), {.quality = 95, .own_tables = true}),
          EncodePng(rgb.view()),
          EncodePng(grey.view()),
          EncodePng(four.view()),
          EncodeWebpLossless(rgb.view())};
}

// Our own decoder of a JPEG's entropy code must not show: neither in a verdict nor in a pixel.
void CompareWithLibrary(std::string_view bytes, DecodeOptions options) {
  std::vector<std::byte> pixels[2];
  absl::Status verdict[2];
  for (int own = 0; own < 2; ++own) {
    options.own_entropy_decoder = own == 1;
    verdict[own] = DecodeImage(bytes, options, [&](size_t size) {
                     pixels[own].assign(size, std::byte{0});
                     return pixels[own].data();
                   }).status();
  }
  if (verdict[0] != verdict[1]) std::abort();
  if (verdict[0].ok() && pixels[0] != pixels[1]) std::abort();
}

void Decode(std::string_view bytes, uint8_t choice) {
  constexpr int64_t kMaxPixels = 1 << 18;
  std::vector<std::byte> buffer;
  const auto allocate = [&buffer](size_t size) {
    buffer.assign(size, std::byte{0});
    return buffer.data();
  };
  DecodeOptions options;
  options.channels = (choice & 1) != 0 ? 1 : 3;
  options.max_pixels = kMaxPixels;
  options.scale_eighths = 1 << ((choice >> 1) & 3);
  const absl::StatusOr<DecodedImage> image = DecodeImage(bytes, options, allocate);
  if (image.ok() && static_cast<size_t>(image->pixels.bytes()) != buffer.size()) std::abort();
  CompareWithLibrary(bytes, options);

  const absl::StatusOr<ImageHeader> header = PeekImage(bytes);
  if (!header.ok()) {
    if (image.ok()) std::abort();
    return;
  }
  if (header->height * header->width > kMaxPixels) return;
  Region region{header->width / 3, header->height / 4, 0, 0};
  region.width = std::max<int64_t>((header->width - region.left) / 2, 1);
  region.height = std::max<int64_t>((header->height - region.top) / 2, 1);
  PartOptions part;
  part.channels = options.channels;
  part.max_pixels = kMaxPixels;
  (void)DecodeRegion(bytes, region, part, allocate);
  options.region = region;
  CompareWithLibrary(bytes, options);
  const auto method = (choice & 8) != 0 ? ResampleMethod::kBicubic : ResampleMethod::kBilinear;
  (void)DecodeRegionResampled(bytes, region, method, 1 + choice / 16, 7, part, allocate);
}

}  // namespace
}  // namespace headrace

// One: the options. Two: 255 for bytes as they are, else a seed. Then triples: place (16 bits) and
// new byte.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<std::string> seeds = headrace::Seeds();
  if (size < 2) return 0;
  if (data[1] == 255) {
    headrace::Decode({reinterpret_cast<const char*>(data) + 2, size - 2}, data[0]);
    return 0;
  }
  std::string file = seeds[data[1] % seeds.size()];
  for (size_t at = 2; at + 3 <= size; at += 3) {
    const size_t place = (size_t{data[at]} << 8 | data[at + 1]) % file.size();
    // A place at the very front cuts the file instead, or no run would ever see a short one.
    if (place < 2) {
      file.resize(1 + data[at + 2] * file.size() / 256);
    } else {
      file[place] = static_cast<char>(data[at + 2]);
    }
  }
  headrace::Decode(file, data[0]);
  return 0;
}
