#include "pipeline/imaging/convert.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "pipeline/imaging/test_images.h"

namespace headrace {
namespace {

constexpr std::array<float, 4> kFactor{0.5f, 0.01f, 3.0f, -1.0f};
constexpr std::array<float, 4> kOffset{1.0f, -2.0f, 0.25f, 7.0f};

// One expression, compiled here without vectors, says what every value must be to the last bit.
float Scaled(float value, size_t c) {
  const volatile float product = value * kFactor[c];
  return product + kOffset[c];
}

TEST(ConvertTest, EveryValueIsScaledByItsChannelInBothLayouts) {
  for (size_t channels : {1, 2, 3, 4}) {
    for (int64_t width : {1, 7, 8, 9, 31, 64}) {
      const TestImage in = MakeNoise(5, width, static_cast<int64_t>(channels), 1);
      const std::vector<float> floats(in.pixels.begin(), in.pixels.end());
      const int64_t pixels = 5 * width;
      const std::span<const float> factor(kFactor.data(), channels),
          offset(kOffset.data(), channels);
      std::vector<float> hwc(in.pixels.size()), chw = hwc, float_hwc = hwc, float_chw = hwc;
      ScalePixels(in.pixels.data(), pixels, factor, offset, Layout::kHwc, hwc.data());
      ScalePixels(in.pixels.data(), pixels, factor, offset, Layout::kChw, chw.data());
      ScalePixels(floats.data(), pixels, factor, offset, Layout::kHwc, float_hwc.data());
      ScalePixels(floats.data(), pixels, factor, offset, Layout::kChw, float_chw.data());
      for (size_t p = 0; p < static_cast<size_t>(pixels); ++p) {
        for (size_t c = 0; c < channels; ++c) {
          const float want = Scaled(in.pixels[p * channels + c], c);
          ASSERT_EQ(hwc[p * channels + c], want) << channels << " channels, pixel " << p;
          ASSERT_EQ(chw[c * static_cast<size_t>(pixels) + p], want)
              << channels << " channels, pixel " << p;
        }
      }
      ASSERT_EQ(hwc, float_hwc);
      ASSERT_EQ(chw, float_chw);
    }
  }
}

TEST(ConvertTest, StreamedPixelsAreTheSame) {
  for (size_t channels : {1, 3, 4}) {
    for (int64_t width : {8, 9, 64}) {
      for (size_t shift : {0, 1}) {  // of `out` from a border of 64 bytes
        const TestImage in = MakeNoise(5, width, static_cast<int64_t>(channels), 4);
        const std::span<const float> factor(kFactor.data(), channels),
            offset(kOffset.data(), channels);
        for (const Layout layout : {Layout::kHwc, Layout::kChw}) {
          std::vector<float> cached(in.pixels.size());
          std::vector<float> memory(in.pixels.size() + 32);
          auto* out = reinterpret_cast<float*>(
              (reinterpret_cast<uintptr_t>(memory.data()) + 63) / 64 * 64 + shift * sizeof(float));
          ScalePixels(in.pixels.data(), 5 * width, factor, offset, layout, cached.data());
          ScalePixels(in.pixels.data(), 5 * width, factor, offset, layout, out, Stores::kStreamed);
          ASSERT_TRUE(std::equal(cached.begin(), cached.end(), out))
              << channels << " channels, width " << width << ", shift " << shift;
        }
      }
    }
  }
}

TEST(ConvertTest, PlanesHoldOneChannelEach) {
  const TestImage in = MakeNoise(9, 11, 3, 2);
  std::vector<uint8_t> out(in.pixels.size());
  PixelsToPlanes(in.pixels.data(), 99, 3, out.data());
  for (size_t p = 0; p < 99; ++p) {
    for (size_t c = 0; c < 3; ++c) ASSERT_EQ(out[c * 99 + p], in.pixels[p * 3 + c]);
  }
}

TEST(ConvertTest, MirroringTwiceGivesTheImageBackAndOnceMirrorsEachPixel) {
  for (int64_t pixel_bytes : {1, 3, 4, 12}) {
    for (int64_t width : {1, 2, 5, 6, 7, 16, 33}) {
      const TestImage in = MakeNoise(4, width, pixel_bytes, 3);
      const auto* from = reinterpret_cast<const std::byte*>(in.pixels.data());
      std::vector<std::byte> once(in.pixels.size()), twice = once;
      FlipHorizontal(from, 4, width, pixel_bytes, once.data());
      for (int64_t y = 0; y < 4; ++y) {
        for (int64_t x = 0; x < width; ++x) {
          for (int64_t b = 0; b < pixel_bytes; ++b) {
            ASSERT_EQ(once[static_cast<size_t>((y * width + x) * pixel_bytes + b)],
                      from[(y * width + width - 1 - x) * pixel_bytes + b]);
          }
        }
      }
      FlipHorizontal(once.data(), 4, width, pixel_bytes, twice.data());
      ASSERT_TRUE(std::equal(twice.begin(), twice.end(), from));
      FlipVertical(from, 4, width * pixel_bytes, once.data());
      for (int64_t y = 0; y < 4; ++y) {
        ASSERT_TRUE(std::equal(once.begin() + y * width * pixel_bytes,
                               once.begin() + (y + 1) * width * pixel_bytes,
                               from + (3 - y) * width * pixel_bytes));
      }
    }
  }
}

}  // namespace
}  // namespace headrace
