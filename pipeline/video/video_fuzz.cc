// Whatever the bytes: frames within the limit, or an error; never a read or write out of bounds.
// Half of the inputs are clips that this program makes itself, with some bytes overwritten,
// so that the decoders are reached from the first second on.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "pipeline/video/decode.h"
#include "pipeline/video/test_clips.h"

namespace headrace {
namespace {

std::vector<std::string> Seeds() {
  std::vector<std::string> out;
  for (ClipKind kind : {ClipKind::kMp4Mpeg4, ClipKind::kAviMjpeg, ClipKind::kMatroskaFfv1})
    out.push_back(EncodeClip(kind, MakeClip(3, 16, 16)));
  return out;
}

void Decode(std::string_view bytes, uint8_t choice) {
  VideoOptions options;
  options.every = 1 + (choice & 3);
  options.height = (choice & 4) != 0 ? 9 : 0;
  options.max_pixels = 1 << 14;
  options.max_bytes = 1 << 20;
  options.max_decoded_frames = 50;
  options.time_limit = absl::Seconds(2);
  std::vector<std::byte> buffer;
  const auto video = DecodeVideo(bytes, options, [&buffer](size_t size) {
    buffer.assign(size, std::byte{0});
    return buffer.data();
  });
  if (!video.ok()) {
    if (video.status().message().find("took longer") != std::string_view::npos) std::abort();
    return;
  }
  const int64_t bytes_out = video->frames * video->height * video->width * 3;
  if (bytes_out > options.max_bytes || static_cast<size_t>(bytes_out) != buffer.size())
    std::abort();
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
