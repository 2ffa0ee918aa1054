#include <cmath>

#include "pipeline/imaging/resample.h"
#include "pipeline/ops/image_crop.h"
#include "pipeline/ops/image_rows.h"

namespace headrace::op_test {
namespace {

using testing::HasSubstr;

TEST(RandomResizedCropTest, PartsHaveTheAreaAndShapeThatWereAskedFor) {
  const ResizedCropRule rule;
  double area_sum = 0, log_ratio_sum = 0;
  constexpr int kDraws = 4000;
  for (int i = 0; i < kDraws; ++i) {
    RandomStream random({.seed = 1, .epoch = 0, .step = 0}, static_cast<uint64_t>(i), 0);
    const Region r = rule.Draw(1000, 1000, random);
    ASSERT_GE(r.left, 0);
    ASSERT_GE(r.top, 0);
    ASSERT_LE(r.right(), 1000);
    ASSERT_LE(r.bottom(), 1000);
    const double area = static_cast<double>(r.width * r.height) / 1e6;
    const double ratio = static_cast<double>(r.width) / static_cast<double>(r.height);
    ASSERT_GT(area, 0.079);
    ASSERT_GT(ratio, 0.745);
    ASSERT_LT(ratio, 1.34);
    area_sum += area;
    log_ratio_sum += std::log(ratio);
  }
  // Uniform in 0.08..1 but for draws that do not fit (areas near 1 with ratios far from 1).
  EXPECT_NEAR(area_sum / kDraws, 0.4775, 0.012);  // by a simulation of the rule in NumPy
  EXPECT_NEAR(log_ratio_sum / kDraws, 0.0, 0.01);
}

TEST(RandomResizedCropTest, WhatNeverFitsFallsBackToTheMiddle) {
  const ResizedCropRule rule{1.0, 1.0, 0.75, 4.0 / 3.0};
  RandomStream random({}, 0, 0);
  EXPECT_EQ(rule.Draw(10, 1000, random), (Region{493, 0, 13, 10}));
  EXPECT_EQ(rule.Draw(1000, 12, random), (Region{0, 492, 12, 16}));
  EXPECT_EQ(rule.Draw(1, 1, random), (Region{0, 0, 1, 1}));
}

TEST(RandomResizedCropTest, ThePartIsResampledFromItsPlace) {
  const TestImage picture = MakePicture(60, 90);
  const Params params = Params()
                            .Set("field", "image")
                            .Set("size", std::vector<int64_t>{16, 20})
                            .Set("method", "bicubic");
  const RandomKey key{.seed = 5, .epoch = 1, .step = 2};
  const Block block =
      RunOnImage("random_resized_crop", params, PixelSchema(), Pixels(picture), 5, key);
  EXPECT_EQ(block.schema()[0].shape, (Shape{16, 20, 3}));
  for (size_t row = 0; row < 5; ++row) {
    RandomStream random(key, block.provenance(row).front());
    const Region region = ResizedCropRule().Draw(60, 90, random);
    std::vector<uint8_t> want(16 * 20 * 3);
    Resample(picture.view(), BoxOf(region), ResampleMethod::kBicubic, 16, 20, want.data());
    EXPECT_EQ(ImageOf(block.column(0)[row]).pixels, want);
  }
}

TEST(RandomResizedCropTest, WrongRangesAreRefused) {
  const Params params = Params().Set("field", "image").Set("size", std::vector<int64_t>{16, 16});
  EXPECT_THAT(
      MessageOf(Build("random_resized_crop",
                      Params(params).Set("scale", std::vector<double>{0.5, 0.1}), PixelSchema())),
      HasSubstr("scale: expected [low, high]"));
  EXPECT_THAT(
      MessageOf(Build("random_resized_crop", Params(params).Set("ratio", std::vector<double>{1.0}),
                      PixelSchema())),
      HasSubstr("ratio: expected [low, high]"));
}

}  // namespace
}  // namespace headrace::op_test
