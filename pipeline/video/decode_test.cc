#include "pipeline/video/decode.h"

#include <cmath>
#include <fstream>
#include <iterator>

#include "common/npy_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pipeline/video/test_clips.h"

namespace headrace {
namespace {

struct Frames {
  std::vector<uint8_t> pixels;
  int64_t frames = 0, height = 0, width = 0;

  // Level of frame f's first pixel: MakeClip's mark is 10 * f.
  int mark(int64_t f) const { return pixels[static_cast<size_t>(f * height * width * 3)]; }
};

absl::StatusOr<Frames> Decode(const std::string& bytes, const VideoOptions& options = {}) {
  Frames out;
  size_t calls = 0;
  const auto video = DecodeVideo(bytes, options, [&](size_t size) {
    ++calls;
    out.pixels.resize(size);
    return reinterpret_cast<std::byte*>(out.pixels.data());
  });
  if (!video.ok()) return video.status();
  EXPECT_EQ(calls, 1u);
  out.frames = video->frames;
  out.height = video->height;
  out.width = video->width;
  EXPECT_EQ(out.pixels.size(), static_cast<size_t>(out.frames * out.height * out.width * 3));
  return out;
}

double MeanDifference(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += std::abs(int{a[i]} - int{b[i]});
  return sum / static_cast<double>(a.size());
}

std::string GoldenFile(const std::string& name) {
  const char* source = std::getenv("HEADRACE_SOURCE_DIR");
  std::ifstream file(std::string(source != nullptr ? source : ".") + "/tests/golden/data/" + name,
                     std::ios::binary);
  EXPECT_TRUE(file.good()) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

// Every level within `most`, and `mean` on the average.
void ExpectDecodesTo(const std::string& file, const std::string& golden, int most, double mean) {
  const auto clip = Decode(GoldenFile(file));
  ASSERT_TRUE(clip.ok()) << file << ": " << clip.status();
  const auto array = ReadGolden(golden);
  ASSERT_TRUE(array.ok()) << array.status();
  ASSERT_EQ(std::vector<int64_t>({clip->frames, clip->height, clip->width, 3}), array->shape);
  const std::vector<uint8_t> expected = array->as<uint8_t>();
  for (size_t i = 0; i < expected.size(); ++i)
    ASSERT_LE(std::abs(int{clip->pixels[i]} - int{expected[i]}), most) << file << " item " << i;
  EXPECT_LE(MeanDifference(clip->pixels, expected), mean) << file;
}

TEST(VideoDecodeTest, FramesAreWhatPillowMakesOfTheJpegsInAClip) {
  ExpectDecodesTo("video_mjpeg.avi", "video_mjpeg", 3, 0.6);
}

TEST(VideoDecodeTest, FramesAreWhatLibvpxAndTheTextbooksMatrixMakeOfAClip) {
  ExpectDecodesTo("video_vp9.webm", "video_vp9", 3, 0.7);
}

TEST(VideoDecodeTest, WhatWasEncodedComesBack) {
  const TestClip clip = MakeClip(14, 64, 96);
  const auto exact = Decode(EncodeClip(ClipKind::kMatroskaFfv1, clip));
  ASSERT_TRUE(exact.ok()) << exact.status();
  EXPECT_EQ(exact->frames, 14);
  EXPECT_EQ(exact->pixels, clip.pixels);
  for (ClipKind kind : {ClipKind::kMp4Mpeg4, ClipKind::kAviMjpeg}) {
    const auto lossy = Decode(EncodeClip(kind, clip));
    ASSERT_TRUE(lossy.ok()) << lossy.status();
    ASSERT_EQ(lossy->frames, 14);
    EXPECT_LT(MeanDifference(lossy->pixels, clip.pixels), 5);
  }
}

TEST(VideoDecodeTest, EveryNthFrameFromAStartIsTaken) {
  const std::string bytes = EncodeClip(ClipKind::kMp4Mpeg4, MakeClip(20, 32, 32));
  const auto marks = [&](const VideoOptions& options) {
    const auto clip = Decode(bytes, options);
    EXPECT_TRUE(clip.ok()) << clip.status();
    std::vector<int> out;
    for (int64_t f = 0; clip.ok() && f < clip->frames; ++f) out.push_back((clip->mark(f) + 5) / 10);
    return out;
  };
  EXPECT_EQ(marks({.every = 6}), (std::vector<int>{0, 6, 12, 18}));
  EXPECT_EQ(marks({.start = 5, .every = 4, .frames = 3}), (std::vector<int>{5, 9, 13}));
  EXPECT_EQ(marks({.start = 18, .frames = 5}), (std::vector<int>{18, 19}));
  EXPECT_EQ(Decode(bytes, {.start = 20}).status().message(), "clip of 20 frames, start is 20");
}

TEST(VideoDecodeTest, FramesMayBeScaled) {
  const auto clip =
      Decode(EncodeClip(ClipKind::kMatroskaFfv1, MakeClip(2, 64, 96)), {.height = 20, .width = 30});
  ASSERT_TRUE(clip.ok()) << clip.status();
  EXPECT_EQ(clip->height, 20);
  EXPECT_EQ(clip->width, 30);
  EXPECT_NEAR(clip->mark(1), 10, 1);
}

TEST(VideoDecodeTest, EachLimitIsNamed) {
  const std::string bytes = EncodeClip(ClipKind::kAviMjpeg, MakeClip(10, 32, 48));
  const auto message = [&](const VideoOptions& options) {
    const auto clip = Decode(bytes, options);
    EXPECT_EQ(clip.status().code(), absl::StatusCode::kOutOfRange);
    return std::string(clip.status().message());
  };
  EXPECT_EQ(message({.max_pixels = 1535}),
            "frames of 32 x 48 (height x width) are over the limit of 1535 pixels");
  EXPECT_EQ(message({.max_bytes = 2 * 32 * 48 * 3}),
            "3 frames of 32 x 48 (height x width) are over the limit of 9216 bytes; take fewer "
            "(frames, every) or smaller ones (size)");
  EXPECT_EQ(message({.max_decoded_frames = 9}), "clip of more than 9 frames");
  EXPECT_THAT(message({.time_limit = absl::ZeroDuration()}),
              testing::StartsWith("decoding took longer than the limit of 0"));
  EXPECT_TRUE(Decode(bytes, {.frames = 2, .max_bytes = 2 * 32 * 48 * 3}).ok());
}

TEST(VideoDecodeTest, ACutClipIsAnError) {
  for (ClipKind kind : {ClipKind::kMp4Mpeg4, ClipKind::kAviMjpeg, ClipKind::kMatroskaFfv1}) {
    const std::string whole = EncodeClip(kind, MakeClip(12, 32, 48));
    ASSERT_FALSE(whole.empty());
    for (size_t keep : {size_t{4}, size_t{60}, whole.size() / 3}) {
      const auto cut = Decode(whole.substr(0, keep));
      EXPECT_FALSE(cut.ok() && cut->frames == 12) << static_cast<int>(kind) << " " << keep;
    }
  }
}

TEST(VideoDecodeTest, WhatIsNoVideoIsSaidSo) {
  const auto message = [](const std::string& bytes) {
    const auto clip = Decode(bytes);
    EXPECT_EQ(clip.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(clip.status().message());
  };
  EXPECT_EQ(message(""), "0 bytes: no video clip");
  EXPECT_THAT(message("Hello, I am a text and no clip. I go on for a while."),
              testing::StartsWith("no video clip of a known kind: "));
  // A playlist would make FFmpeg open other files.
  EXPECT_THAT(message("#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n"),
              testing::StartsWith("no video clip of a known kind: "));
  EXPECT_THAT(message("ffconcat version 1.0\nfile /etc/passwd\n"),
              testing::StartsWith("no video clip of a known kind: "));
}

TEST(VideoDecodeTest, FlippedBytesEndWithinTheLimits) {
  for (ClipKind kind : {ClipKind::kMp4Mpeg4, ClipKind::kAviMjpeg, ClipKind::kMatroskaFfv1}) {
    const std::string whole = EncodeClip(kind, MakeClip(4, 16, 16));
    for (size_t at = 0; at < whole.size(); at += 1 + at / 40) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ 0xff);
      const auto clip = Decode(damaged, {.max_pixels = 1 << 16,
                                         .max_bytes = 1 << 20,
                                         .max_decoded_frames = 100,
                                         .time_limit = absl::Seconds(5)});
      EXPECT_LE(clip.ok() ? clip->pixels.size() : 0, size_t{1} << 20);
      EXPECT_THAT(clip.ok() ? "" : std::string(clip.status().message()),
                  testing::Not(testing::HasSubstr("took longer")));
    }
  }
}

}  // namespace
}  // namespace headrace
