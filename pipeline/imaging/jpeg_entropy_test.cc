// Our decoder of the entropy code next to the library's: neither a verdict nor a pixel may tell
// them apart.
#include "pipeline/imaging/jpeg_entropy.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "common/test_data.h"
#include "fmt/core.h"
#include "pipeline/imaging/decode.h"
#include "pipeline/imaging/test_images.h"

namespace headrace {
namespace {

struct Outcome {
  absl::Status verdict;
  std::vector<uint8_t> pixels;
  int64_t left = 0, top = 0;
  bool own = false;
};

Outcome Decode(std::string_view file, DecodeOptions options, bool own) {
  options.own_entropy_decoder = own;
  Outcome out;
  int allocations = 0;
  const absl::StatusOr<DecodedImage> image = DecodeImage(file, options, [&](size_t size) {
    ++allocations;
    out.pixels.assign(size, 0);
    return reinterpret_cast<std::byte*>(out.pixels.data());
  });
  EXPECT_LE(allocations, 1);
  out.verdict = image.status();
  if (image.ok()) {
    out.left = image->left;
    out.top = image->top;
    out.own = image->own_entropy_decoder;
  }
  return out;
}

// The outcome of ours.
Outcome ExpectTheSame(std::string_view file, const DecodeOptions& options) {
  const Outcome library = Decode(file, options, false), ours = Decode(file, options, true);
  EXPECT_FALSE(library.own);
  EXPECT_EQ(ours.verdict, library.verdict);
  if (library.verdict.ok()) {
    EXPECT_TRUE(ours.pixels == library.pixels);
    EXPECT_EQ(ours.left, library.left);
    EXPECT_EQ(ours.top, library.top);
  }
  return ours;
}

Region RandomRegion(std::mt19937& random, int64_t height, int64_t width) {
  const auto below = [&](int64_t n) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
  };
  Region region{below(width), below(height), 0, 0};
  region.width = 1 + below(width - region.left);
  region.height = 1 + below(height - region.top);
  return region;
}

DecodeOptions RandomOptions(std::mt19937& random, int64_t height, int64_t width) {
  DecodeOptions options;
  options.channels = random() % 4 == 0 ? 1 : 3;
  options.scale_eighths = 1 << (random() % 4);
  if (random() % 4 != 0) options.region = RandomRegion(random, height, width);
  return options;
}

// A picture with both smooth areas and noise: long runs, long values, blocks of all kinds.
TestImage MakeMixture(int64_t height, int64_t width, int64_t channels, uint32_t seed) {
  TestImage out = MakePicture(height, width, channels);
  const TestImage noise = MakeNoise(height, width, channels, seed);
  for (size_t i = 0; i < out.pixels.size(); ++i) {
    if (i / 700 % 3 == 0) out.pixels[i] = noise.pixels[i];
    if (i / 700 % 7 == 0) out.pixels[i] = 128;
  }
  return out;
}

std::vector<JpegForm> Forms() {
  std::vector<JpegForm> forms;
  for (const int quality : {1, 15, 50, 85, 95, 100}) {
    for (const auto& [horizontal, vertical] :
         {std::pair{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}, {4, 2}}) {
      for (const int restart : {0, 1, 7}) {
        for (const bool own_tables : {false, true}) {
          forms.push_back({quality, horizontal, vertical, false, restart, own_tables});
        }
      }
    }
  }
  return forms;
}

TEST(JpegEntropyTest, EveryFormWholeAndInPartsIsWhatTheLibraryMakes) {
  std::mt19937 random(7);
  for (const int64_t channels : {1, 3, 4}) {
    for (const JpegForm& form : Forms()) {
      const auto height = static_cast<int64_t>(1 + random() % 150);
      const auto width = static_cast<int64_t>(1 + random() % 150);
      SCOPED_TRACE(fmt::format("{} channels, {}x{}, quality {}, {}x{}, restart {}, own tables {}",
                               channels, width, height, form.quality, form.horizontal,
                               form.vertical, form.restart_interval, form.own_tables));
      const TestImage picture =
          MakeMixture(height, width, channels, static_cast<uint32_t>(random()));
      const std::string file = EncodeJpeg(picture.view(), form);
      ExpectTheSame(file, {});
      // By now a small file's tables are known too.
      EXPECT_TRUE(ExpectTheSame(file, {}).own);
      for (int i = 0; i < 8; ++i) {
        EXPECT_TRUE(ExpectTheSame(file, RandomOptions(random, height, width)).own);
      }
      if (HasFailure()) return;
    }
  }
}

TEST(JpegEntropyTest, LongScansGoThroughTheWindowManyTimes) {
  std::mt19937 random(8);
  for (const int quality : {40, 90, 100}) {
    for (const int restart : {0, 1, 500}) {
      const TestImage picture = MakeMixture(500, 700, 3, 8);
      const std::string file = EncodeJpeg(
          picture.view(), {.quality = quality, .restart_interval = restart, .own_tables = true});
      EXPECT_TRUE(ExpectTheSame(file, {}).own);
      for (int i = 0; i < 10; ++i) {
        EXPECT_TRUE(ExpectTheSame(file, RandomOptions(random, 500, 700)).own);
      }
    }
  }
}

TEST(JpegEntropyTest, RealPhotographsAreWhatTheLibraryMakes) {
  const std::string shared = SharedData();
  if (shared.empty()) GTEST_SKIP() << "no shared data (set HEADRACE_SHARED_DATA)";
  std::mt19937 random(9);
  int files = 0, ours = 0, decodes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(shared + "/imagenet")) {
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string file{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    SCOPED_TRACE(entry.path().filename().string());
    const absl::StatusOr<ImageHeader> header = PeekImage(file);
    ASSERT_TRUE(header.ok()) << header.status();
    ++files;
    ours += ExpectTheSame(file, {}).own;
    for (int i = 0; i < 6; ++i) {
      ours += ExpectTheSame(file, RandomOptions(random, header->height, header->width)).own;
    }
    decodes += 7;
    if (HasFailure()) return;
  }
  EXPECT_EQ(files, 250);
  EXPECT_GT(ours, decodes * 9 / 10);
}

std::vector<std::string> SmallFiles() {
  const TestImage colour = MakeMixture(45, 61, 3, 1), grey = MakeMixture(40, 33, 1, 2);
  return {EncodeJpeg(colour.view(), {.quality = 80}),
          EncodeJpeg(colour.view(), {.quality = 95, .horizontal = 1, .vertical = 1}),
          EncodeJpeg(colour.view(), {.quality = 60, .restart_interval = 2}),
          EncodeJpeg(colour.view(),
                     {.quality = 90, .horizontal = 2, .vertical = 1, .own_tables = true}),
          EncodeJpeg(grey.view(), {.quality = 85, .restart_interval = 3})};
}

size_t ScanOf(const std::string& file) {
  const size_t marker = file.find("\xff\xda");
  EXPECT_NE(marker, std::string::npos);
  return marker + 2 + static_cast<uint8_t>(file[marker + 3]);
}

TEST(JpegEntropyTest, ACutFileGetsTheLibrarysVerdictWhereverItIsCut) {
  std::mt19937 random(10);
  for (const std::string& file : SmallFiles()) {
    ExpectTheSame(file, {});
    for (size_t size = ScanOf(file); size < file.size(); size += 1 + random() % 3) {
      SCOPED_TRACE(size);
      const std::string_view cut = std::string_view(file).substr(0, size);
      ExpectTheSame(cut, {});
      ExpectTheSame(cut, RandomOptions(random, 40, 33));
      if (HasFailure()) return;
    }
  }
}

TEST(JpegEntropyTest, FlippedBitsGetTheLibrarysVerdictAndPixels) {
  std::mt19937 random(11);
  int refused = 0, own = 0, other = 0;
  for (const std::string& file : SmallFiles()) {
    ExpectTheSame(file, {});
    const size_t scan = ScanOf(file);
    for (int i = 0; i < 2000; ++i) {
      std::string damaged = file;
      const int flips = 1 + static_cast<int>(random() % 4);
      for (int f = 0; f < flips; ++f) {
        // Mostly in the entropy code, now and then in the tables before it.
        const size_t from = random() % 8 == 0 ? 2 : scan;
        const size_t at = from + random() % (file.size() - from);
        damaged[at] = static_cast<char>(damaged[at] ^ 1 << random() % 8);
      }
      SCOPED_TRACE(i);
      const Outcome whole = ExpectTheSame(damaged, {.max_pixels = 1 << 16});
      const Outcome part =
          ExpectTheSame(damaged, {.max_pixels = 1 << 16, .region = Region{17, 18, 9, 11}});
      refused += !whole.verdict.ok();
      own += whole.own;
      other += part.verdict.ok() && !part.own;
      if (HasFailure()) return;
    }
  }
  // All three ways were gone.
  EXPECT_GT(refused, 500);
  EXPECT_GT(own, 500);
  EXPECT_GT(other, 100);
}

TEST(JpegEntropyTest, WhatStandsBetweenSegmentsIsForTheLibraryToJudge) {
  const TestImage picture = MakeMixture(64, 64, 3, 3);
  const std::string file = EncodeJpeg(picture.view(), {.quality = 80, .restart_interval = 2});
  ExpectTheSame(file, {});
  ASSERT_TRUE(ExpectTheSame(file, {}).own);
  const size_t first = file.find("\xff\xd0", ScanOf(file));
  ASSERT_NE(first, std::string::npos);
  std::string wrong = file, missing = file, fill = file, garbage = file, twice = file;
  wrong[first + 1] = '\xd5';
  missing.erase(first, 2);
  fill.insert(first, "\xff");
  garbage.insert(first, "abc");
  twice.insert(first, "\xff\xd0");
  for (const std::string& odd : {wrong, missing, fill, garbage, twice}) {
    EXPECT_FALSE(ExpectTheSame(odd, {}).own);
    EXPECT_FALSE(ExpectTheSame(odd, {.region = Region{0, 40, 64, 24}}).own);
  }
  // Behind the scan anything may follow.
  EXPECT_TRUE(ExpectTheSame(file + "trailing", {}).own);
  EXPECT_TRUE(ExpectTheSame(file.substr(0, file.size() - 2), {}).own);
  EXPECT_TRUE(ExpectTheSame(file.substr(0, file.size() - 2) + "rest", {}).own);
}

TEST(JpegEntropyTest, ProgressiveFilesAreLeftToTheLibrary) {
  const std::string file = EncodeJpeg(MakePicture(100, 100).view(), {.progressive = true});
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(ExpectTheSame(file, {}).own);
}

}  // namespace
}  // namespace headrace
