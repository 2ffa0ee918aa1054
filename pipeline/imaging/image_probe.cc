// For pillow_test.py only: does what each line of standard input asks for and writes the pixels to
// standard output.
//
//   PATH CHANNELS                                              the decoded image
//   PATH CHANNELS METHOD LEFT TOP RIGHT BOTTOM HEIGHT WIDTH    a box of it, resampled
//   PATH CHANNELS part METHOD LEFT TOP RIGHT BOTTOM HEIGHT WIDTH    the same by
//   DecodeRegionResampled
//
// Each answer is a line "HEIGHT WIDTH CHANNELS" and the bytes, or a line "error: ...".
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "common/status.h"
#include "pipeline/imaging/decode.h"
#include "pipeline/imaging/decode_part.h"
#include "pipeline/imaging/resample.h"

namespace headrace {
namespace {

struct Pixels {
  std::vector<uint8_t> bytes;
  int64_t height = 0, width = 0, channels = 0;

  std::byte* Allocate(size_t size) {
    bytes.resize(size);
    return reinterpret_cast<std::byte*>(bytes.data());
  }
};

absl::StatusOr<Pixels> Answer(const std::string& line) {
  std::istringstream words(line);
  std::string path, method;
  DecodeOptions options;
  Box box;
  Pixels decoded, out;
  words >> path >> options.channels;
  std::ifstream file(path, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  const bool resample = static_cast<bool>(words >> method);
  const bool part = method == "part";
  if (part) words >> method;
  if (resample) words >> box.left >> box.top >> box.right >> box.bottom >> out.height >> out.width;
  out.channels = options.channels;
  if (part) {
    HR_ASSIGN_OR_RETURN(const ResampleMethod filter, ParseResampleMethod(method));
    const Region region{static_cast<int64_t>(box.left), static_cast<int64_t>(box.top),
                        static_cast<int64_t>(box.right - box.left),
                        static_cast<int64_t>(box.bottom - box.top)};
    PartOptions part_options;
    part_options.channels = options.channels;
    HR_RETURN_IF_ERROR(DecodeRegionResampled(bytes, region, filter, out.height, out.width,
                                             part_options,
                                             [&out](size_t size) { return out.Allocate(size); })
                           .status());
    return out;
  }
  HR_ASSIGN_OR_RETURN(const DecodedImage image, DecodeImage(bytes, options, [&](size_t size) {
                        return decoded.Allocate(size);
                      }));
  decoded.height = image.pixels.height;
  decoded.width = image.pixels.width;
  decoded.channels = options.channels;
  if (!resample) return decoded;
  HR_ASSIGN_OR_RETURN(const ResampleMethod filter, ParseResampleMethod(method));
  out.Allocate(static_cast<size_t>(out.height * out.width * out.channels));
  Resample(image.pixels, box, filter, out.height, out.width, out.bytes.data());
  return out;
}

}  // namespace
}  // namespace headrace

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    const absl::StatusOr<headrace::Pixels> pixels = headrace::Answer(line);
    if (!pixels.ok()) {
      std::cout << "error: " << headrace::OneLine(pixels.status()) << std::endl;
      continue;
    }
    std::cout << pixels->height << ' ' << pixels->width << ' ' << pixels->channels << '\n';
    std::cout.write(reinterpret_cast<const char*>(pixels->bytes.data()),
                    static_cast<std::streamsize>(pixels->bytes.size()));
    std::cout.flush();
  }
  return 0;
}
