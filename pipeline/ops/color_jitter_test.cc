#include <algorithm>
#include <set>

#include "pipeline/ops/golden_image.h"

namespace headrace::op_test {
namespace {

using Pair = std::vector<double>;

Params Fixed(const char* what, double by) {
  return Params().Set("field", "image").Set(what, Pair{by, by});
}

TEST(ColorJitterTest, EachChangeIsTorchvisions) {
  ExpectLikeTorchvision("color_jitter", Fixed("brightness", 0.6), "brightness_0.6");
  ExpectLikeTorchvision("color_jitter", Fixed("brightness", 1.7), "brightness_1.7", false, true);
  ExpectLikeTorchvision("color_jitter", Fixed("contrast", 0.4), "contrast_0.4", false, true);
  ExpectLikeTorchvision("color_jitter", Fixed("contrast", 1.8), "contrast_1.8");
  ExpectLikeTorchvision("color_jitter", Fixed("contrast", 1.5), "contrast_grey_1.5", true);
  ExpectLikeTorchvision("color_jitter", Fixed("saturation", 0.3), "saturation_0.3", false, true);
  ExpectLikeTorchvision("color_jitter", Fixed("saturation", 1.6), "saturation_1.6");
  ExpectLikeTorchvision("color_jitter", Fixed("hue", 0.3), "hue_0.3", false, true);
  ExpectLikeTorchvision("color_jitter", Fixed("hue", -0.45), "hue_-0.45");
}

TEST(ColorJitterTest, GreyImagesHaveNoSaturationAndNoHue) {
  const TestImage grey = GoldenGrey();
  const Params params = Fixed("saturation", 0.1).Set("hue", Pair{0.4, 0.4});
  const Block block =
      RunOnImage("color_jitter", params, PixelSchema(DType::kUInt8, {-1, -1, 1}), Pixels(grey));
  EXPECT_EQ(ImageOf(block.column(0)[0]).pixels, grey.pixels);
}

// What brightness makes of levels of 100, over many records.
std::vector<double> Factors(const Params& params, size_t rows, const RandomKey& key = {}) {
  std::vector<float> unit(3, 0.25f);
  const Block block = RunOnImage("color_jitter", params, PixelSchema(DType::kFloat32),
                                 Nums<float>(unit, {1, 1, 3}), rows, key);
  std::vector<double> out;
  for (const Cell& cell : block.column(0)) out.push_back(cell.as<float>()[0] / 0.25);
  return out;
}

TEST(ColorJitterTest, FactorsAreDrawnEvenlyAroundOne) {
  std::vector<double> factors =
      Factors(Params().Set("field", "image").Set("brightness", 0.4), 4000);
  std::sort(factors.begin(), factors.end());
  EXPECT_GE(factors.front(), 0.6 - 1e-6);
  EXPECT_LE(factors.back(), 1.4 + 1e-6);
  for (double share : {0.1, 0.5, 0.9}) {
    const auto at = static_cast<size_t>(share * static_cast<double>(factors.size()));
    EXPECT_NEAR(factors[at], 0.6 + 0.8 * share, 0.03) << share;
  }
}

TEST(ColorJitterTest, AFactorIsNeverBelowZero) {
  const std::vector<double> factors =
      Factors(Params().Set("field", "image").Set("brightness", 3.0), 2000);
  const double least = *std::min_element(factors.begin(), factors.end());
  EXPECT_GE(least, 0);
  EXPECT_LE(least, 0.05);
}

TEST(ColorJitterTest, TheOrderOfTheChangesIsDrawnEvenly) {
  // Levels 64 and 192 with the mean at 128: brighter and then less contrast is not the other way
  // round.
  const TestImage two{1, 2, 1, {64, 192}};
  const Params params = Fixed("brightness", 2.0).Set("contrast", Pair{0.5, 0.5});
  const Block block =
      RunOnImage("color_jitter", params, PixelSchema(DType::kUInt8, {1, 2, 1}), Pixels(two), 1000);
  size_t brightness_first = 0;
  for (const Cell& cell : block.column(0)) {
    const std::vector<uint8_t> got = ImageOf(cell).pixels;
    if (got == std::vector<uint8_t>{159, 223}) {
      ++brightness_first;
    } else {
      ASSERT_EQ(got, (std::vector<uint8_t>{192, 255}));
    }
  }
  EXPECT_NEAR(static_cast<double>(brightness_first), 500, 60);
}

TEST(ColorJitterTest, ProbabilityLeavesTheOthersAsTheyAre) {
  const std::vector<double> factors =
      Factors(Fixed("brightness", 0.5).Set("probability", 0.3), 3000);
  const auto changed =
      std::count_if(factors.begin(), factors.end(), [](double f) { return f < 0.9; });
  EXPECT_NEAR(static_cast<double>(changed), 900, 100);
}

TEST(ColorJitterTest, ARecordsDrawDependsOnSeedEpochAndRecordAlone) {
  const Params params = Params().Set("field", "image").Set("brightness", 0.4);
  const RandomKey key{.seed = 1, .epoch = 2, .step = 3};
  const std::vector<double> first = Factors(params, 30, key);
  EXPECT_EQ(first, Factors(params, 30, key));
  EXPECT_NE(first, Factors(params, 30, {.seed = 1, .epoch = 3, .step = 3}));
  EXPECT_EQ(std::set<double>(first.begin(), first.end()).size(), 30u);
  // Another change beside it takes no draws away.
  EXPECT_EQ(first, Factors(Params(params).Set("hue", 0.1), 30, key));
  EXPECT_EQ(Factors(Params(params).Set("seed", 9), 30, key),
            Factors(params, 30, {.seed = 9, .epoch = 2, .step = 3}));
}

TEST(ColorJitterTest, ImpossibleRangesAreRefused) {
  const auto message = [](const Params& params) {
    return MessageOf(Build("color_jitter", params, PixelSchema()));
  };
  EXPECT_EQ(message(Params().Set("field", "image")),
            "nothing to change: give brightness, contrast, saturation or hue");
  EXPECT_EQ(
      message(Params().Set("field", "image").Set("hue", 0.6)),
      "hue: expected a number of 0 or more, or [low, high] within -0.5 to 0.5 with low <= high");
  EXPECT_THAT(message(Params().Set("field", "image").Set("contrast", -0.1)),
              testing::StartsWith("contrast: expected"));
  EXPECT_THAT(message(Params().Set("field", "image").Set("contrast", Pair{0.5, 0.4})),
              testing::StartsWith("contrast: expected"));
  EXPECT_THAT(message(Params().Set("field", "image").Set("contrast", Pair{0.5, 0.6, 0.7})),
              testing::StartsWith("contrast: expected"));
  EXPECT_EQ(message(Fixed("hue", 0.1).Set("probability", 1.5)),
            "probability: expected 0 to 1, got 1.5");
}

}  // namespace
}  // namespace headrace::op_test
