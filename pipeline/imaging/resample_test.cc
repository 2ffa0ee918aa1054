#include "pipeline/imaging/resample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "pipeline/imaging/resample_kernels.h"
#include "pipeline/imaging/test_images.h"

namespace headrace {
namespace {

// The definition, in double: one weighted mean per output value; `cut`: to [0, 255] between the
// passes.
std::vector<double> Weights(ResampleMethod method, int64_t in, double low, double high, int64_t out,
                            int64_t at) {
  const double scale = (high - low) / static_cast<double>(out), widen = std::max(scale, 1.0);
  const double center = low + (static_cast<double>(at) + 0.5) * scale;
  std::vector<double> weights(static_cast<size_t>(in));
  double sum = 0;
  for (int64_t i = 0; i < in; ++i) {
    const double x = std::abs((static_cast<double>(i) + 0.5 - center) / widen);
    double w = 0;
    if (method == ResampleMethod::kBilinear) {
      w = std::max(0.0, 1 - x);
    } else if (x < 1) {
      w = 1.5 * x * x * x - 2.5 * x * x + 1;
    } else if (x < 2) {
      w = -0.5 * x * x * x + 2.5 * x * x - 4 * x + 2;
    }
    weights[static_cast<size_t>(i)] = w;
    sum += w;
  }
  for (double& w : weights) w /= sum;
  return weights;
}

std::vector<double> Reference(const ImageView& in, const Box& box, ResampleMethod method,
                              int64_t height, int64_t width, bool cut = false) {
  std::vector<std::vector<double>> columns, rows;
  for (int64_t x = 0; x < width; ++x)
    columns.push_back(Weights(method, in.width, box.left, box.right, width, x));
  for (int64_t y = 0; y < height; ++y)
    rows.push_back(Weights(method, in.height, box.top, box.bottom, height, y));
  std::vector<double> between(static_cast<size_t>(in.height * width * in.channels));
  for (int64_t y = 0; y < in.height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      for (int64_t c = 0; c < in.channels; ++c) {
        double sum = 0;
        for (int64_t i = 0; i < in.width; ++i) {
          sum += columns[static_cast<size_t>(x)][static_cast<size_t>(i)] *
                 in.row(y)[i * in.channels + c];
        }
        between[static_cast<size_t>((y * width + x) * in.channels + c)] =
            cut ? std::clamp(sum, 0.0, 255.0) : sum;
      }
    }
  }
  std::vector<double> out(static_cast<size_t>(height * width * in.channels));
  const size_t row_items = static_cast<size_t>(width * in.channels);
  for (size_t y = 0; y < static_cast<size_t>(height); ++y) {
    for (size_t i = 0; i < static_cast<size_t>(in.height); ++i) {
      for (size_t x = 0; x < row_items; ++x)
        out[y * row_items + x] += rows[y][i] * between[i * row_items + x];
    }
  }
  return out;
}

struct Case {
  int64_t in_height, in_width;
  Box box;
  int64_t height, width;
};
const Case kCases[] = {
    {40, 50, {0, 0, 50, 40}, 40, 50},  // nothing to do
    {40, 50, {3, 5, 33, 25}, 20, 30},  // a plain crop
    {90, 77, {0, 0, 77, 90}, 33, 31},  // smaller
    {30, 41, {0, 0, 41, 30}, 61, 97},  // larger
    {64, 80, {10.25, 3.5, 60.75, 50.125}, 37, 43},
    {64, 80, {10, 3, 22, 60}, 20, 50},   // wider, lower
    {64, 80, {10, 3, 75, 19}, 50, 20},   // narrower, higher
    {200, 150, {0, 0, 150, 200}, 7, 5},  // thirty taps
    {5, 7, {1, 1, 2, 2}, 9, 9},          // one pixel, enlarged
    {1, 1, {0, 0, 1, 1}, 3, 8},
    {64, 3, {0, 0, 3, 64}, 64, 9},     // rows shorter than a vector, no vertical change
    {33, 64, {0, 0, 64, 33}, 12, 64},  // no horizontal change
    {33, 64, {10.25, 4.25, 20.25, 14.25}, 20, 20},  // outputs that fall on pixels
};

TEST(ResampleTest, UInt8IsWithinOneLevelOfTheDefinition) {
  for (const Case& c : kCases) {
    for (int64_t channels : {1, 3}) {
      for (ResampleMethod method : {ResampleMethod::kBilinear, ResampleMethod::kBicubic}) {
        const TestImage in = MakeNoise(c.in_height, c.in_width, channels, 7);
        std::vector<uint8_t> got(static_cast<size_t>(c.height * c.width * channels));
        Resample(in.view(), c.box, method, c.height, c.width, got.data());
        const std::vector<double> want =
            Reference(in.view(), c.box, method, c.height, c.width, true);
        double worst = 0;
        for (size_t i = 0; i < got.size(); ++i) {
          worst = std::max(worst, std::abs(got[i] - std::clamp(want[i], 0.0, 255.0)));
        }
        // Two roundings of half a level, the second one weighted by lobes of the cubic.
        EXPECT_LE(worst, 1.3) << c.in_height << "x" << c.in_width << " -> " << c.height << "x"
                              << c.width << " channels " << channels << " method "
                              << static_cast<int>(method);
      }
    }
  }
}

TEST(ResampleTest, Float32FollowsTheDefinition) {
  for (const Case& c : kCases) {
    const TestImage in = MakeNoise(c.in_height, c.in_width, 3, 8);
    const std::vector<float> values(in.pixels.begin(), in.pixels.end());
    std::vector<float> got(static_cast<size_t>(c.height * c.width * 3));
    Resample(FloatImageView{values.data(), c.in_height, c.in_width, 3}, c.box,
             ResampleMethod::kBicubic, c.height, c.width, got.data());
    const std::vector<double> want =
        Reference(in.view(), c.box, ResampleMethod::kBicubic, c.height, c.width);
    for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], 2e-3);
  }
}

TEST(ResampleTest, EveryProcessorGivesTheSameBytes) {
  for (const Case& c : kCases) {
    for (ResampleMethod method : {ResampleMethod::kBilinear, ResampleMethod::kBicubic}) {
      const TestImage in = MakeNoise(c.in_height, c.in_width, 3, 9);
      std::vector<uint8_t> portable(static_cast<size_t>(c.height * c.width * 3)), best = portable;
      ResampleWith(PortableResampleKernels(), in.view(), c.box, method, c.height, c.width,
                   portable.data());
      ResampleWith(BestResampleKernels(), in.view(), c.box, method, c.height, c.width, best.data());
      ASSERT_EQ(portable, best);
    }
  }
}

TEST(ResampleTest, AFlatAreaKeepsItsValue) {
  for (int value : {0, 1, 127, 254, 255}) {
    const TestImage in{97, 83, 3, std::vector<uint8_t>(97 * 83 * 3, static_cast<uint8_t>(value))};
    for (ResampleMethod method : {ResampleMethod::kBilinear, ResampleMethod::kBicubic}) {
      std::vector<uint8_t> got(31 * 120 * 3);
      Resample(in.view(), {0, 0, 83, 97}, method, 31, 120, got.data());
      for (uint8_t p : got) ASSERT_EQ(p, value);
    }
  }
}

TEST(ResampleTest, TheReachCoversEveryPixelThatIsRead) {
  for (double size : {3.0, 50.5, 224.0, 700.25}) {
    for (int64_t out : {1, 10, 224, 500}) {
      for (ResampleMethod method : {ResampleMethod::kBilinear, ResampleMethod::kBicubic}) {
        ResampleAxis<int16_t> axis;
        MakeAxis(2000, 500, 500 + size, out, method, axis);
        const double reach = FilterReach(method, size, out);
        EXPECT_GE(static_cast<double>(axis.begin()), std::floor(500 - reach));
        EXPECT_LE(static_cast<double>(axis.end()), std::ceil(500 + size + reach));
      }
    }
  }
}

TEST(ResampleTest, AnUnknownMethodNamesTheKnownOnes) {
  EXPECT_EQ(ParseResampleMethod("bicubic").value(), ResampleMethod::kBicubic);
  const absl::Status status = ParseResampleMethod("nearest").status();
  EXPECT_EQ(status.message(), "method: expected 'bilinear' or 'bicubic', got 'nearest'");
}

}  // namespace
}  // namespace headrace
