#include <algorithm>

#include "pipeline/ops/golden_image.h"

namespace headrace::op_test {
namespace {

using Size = std::vector<int64_t>;
using Pair = std::vector<double>;

Params Blurred(Size kernel) { return Params().Set("field", "image").Set("kernel_size", kernel); }

TEST(GaussianBlurTest, ABlurOfFixedWidthIsTorchvisions) {
  ExpectLikeTorchvision("gaussian_blur", Blurred({5, 9}).Set("sigma", 1.3), "blur_5x9_1.3", false,
                        true);
  ExpectLikeTorchvision("gaussian_blur", Blurred({3}).Set("sigma", 0.5), "blur_3_0.5", true);
}

// Sigmas that were drawn: of a single bright pixel, the kernel's middle and its neighbour remain.
std::vector<double> Sigmas(const Params& params, size_t rows, const RandomKey& key = {}) {
  std::vector<float> point(9, 0.0f);
  point[4] = 1.0f;
  const Block block = RunOnImage("gaussian_blur", params, PixelSchema(DType::kFloat32, {1, 9, 1}),
                                 Nums<float>(point, {1, 9, 1}), rows, key);
  std::vector<double> out;
  for (const Cell& cell : block.column(0)) {
    const double ratio = cell.as<float>()[3] / cell.as<float>()[4];  // exp(-1 / (2 sigma^2))
    out.push_back(ratio > 0 ? std::sqrt(-0.5 / std::log(ratio)) : 0);
  }
  return out;
}

TEST(GaussianBlurTest, SigmaIsDrawnEvenly) {
  std::vector<double> sigmas = Sigmas(Blurred({1, 3}).Set("sigma", Pair{0.5, 2.5}), 4000);
  std::sort(sigmas.begin(), sigmas.end());
  EXPECT_GE(sigmas.front(), 0.49);
  EXPECT_LE(sigmas.back(), 2.51);
  EXPECT_NEAR(sigmas[2000], 1.5, 0.06);
  EXPECT_NEAR(sigmas[400], 0.7, 0.06);
}

TEST(GaussianBlurTest, ProbabilityLeavesTheOthersAsTheyAre) {
  const std::vector<double> sigmas =
      Sigmas(Blurred({1, 3}).Set("sigma", 1.0).Set("probability", 0.5), 2000);
  EXPECT_NEAR(static_cast<double>(std::count(sigmas.begin(), sigmas.end(), 0.0)), 1000, 90);
}

TEST(GaussianBlurTest, ARecordsDrawDependsOnSeedEpochAndRecordAlone) {
  const Params params = Blurred({1, 3});
  const RandomKey key{.seed = 1, .epoch = 2, .step = 3};
  EXPECT_EQ(Sigmas(params, 20, key), Sigmas(params, 20, key));
  EXPECT_NE(Sigmas(params, 20, key), Sigmas(params, 20, {.seed = 1, .epoch = 3, .step = 3}));
}

TEST(GaussianBlurTest, AnImageSmallerThanHalfTheKernelFailsItsRow) {
  const Block block =
      RunOnImage("gaussian_blur", Blurred({5, 3}), PixelSchema(), Pixels(MakePicture(2, 9)), 2);
  EXPECT_EQ(block.rows(), 0u);
  EXPECT_EQ(FirstFailure(block),
            "field 'image': image of 2 x 9 is too small for a kernel of 5 x 3 (height x width); "
            "resize it first, or take a smaller kernel_size");
}

TEST(GaussianBlurTest, WrongParametersAreRefused) {
  const auto message = [](const Params& params) {
    return MessageOf(Build("gaussian_blur", params, PixelSchema()));
  };
  EXPECT_EQ(message(Blurred({4})), "kernel_size: expected odd numbers of 1 to 1023, got 4");
  EXPECT_EQ(message(Blurred({3, 3, 3})),
            "kernel_size: expected [height, width] or one number for both");
  EXPECT_THAT(message(Blurred({3}).Set("sigma", 0.0)), testing::StartsWith("sigma: expected"));
  EXPECT_THAT(message(Blurred({3}).Set("sigma", Pair{2, 1})), testing::StartsWith("sigma:"));
}

}  // namespace
}  // namespace headrace::op_test
