// Video clips that tests make themselves, by FFmpeg's encoders. No binary links this.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headrace {

enum class ClipKind {
  kMp4Mpeg4,      // lossy, frames depend on each other
  kAviMjpeg,      // lossy, frames stand alone
  kMatroskaFfv1,  // lossless RGB
};

struct TestClip {
  int64_t frames = 0;
  int64_t height = 0;
  int64_t width = 0;
  std::vector<uint8_t> pixels;  // [frames, height, width, 3]
};

// Smooth colours that move; frame f's first row is all of level 10 * f in red, green and blue, so
// that frames can be told apart.
TestClip MakeClip(int64_t frames, int64_t height, int64_t width);

// "" when FFmpeg has no such encoder. Sides must be even.
std::string EncodeClip(ClipKind kind, const TestClip& clip);

}  // namespace headrace
