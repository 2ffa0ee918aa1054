#include <set>

#include "pipeline/ops/image_rows.h"

namespace headrace::op_test {
namespace {

// Pixel value = y * 16 + x: the first pixel of a crop says where it was taken.
TestImage Positions() {
  TestImage image{12, 16, 1, {}};
  for (int y = 0; y < 12; ++y) {
    for (int x = 0; x < 16; ++x) image.pixels.push_back(static_cast<uint8_t>(y * 16 + x));
  }
  return image;
}

const Schema kGrey = PixelSchema(DType::kUInt8, {12, 16, 1});

TEST(RandomCropTest, EveryPlaceIsTakenAndEachCropIsAPartOfTheImage) {
  const Params params = Params().Set("field", "image").Set("size", std::vector<int64_t>{10, 13});
  const Block block = RunOnImage("random_crop", params, kGrey, Pixels(Positions()), 400);
  std::set<int> places;
  for (const Cell& cell : block.column(0)) {
    const TestImage crop = ImageOf(cell);
    places.insert(crop.pixels[0]);
    for (int y = 0; y < 10; ++y) {
      for (int x = 0; x < 13; ++x)
        ASSERT_EQ(crop.pixels[static_cast<size_t>(y * 13 + x)], crop.pixels[0] + y * 16 + x);
    }
  }
  EXPECT_EQ(places.size(), 3u * 4u);
}

TEST(RandomCropTest, ARecordsDrawDependsOnSeedEpochAndRecordAlone) {
  const Params params = Params().Set("field", "image").Set("size", std::vector<int64_t>{4, 4});
  const auto draws = [&](const Params& p, const RandomKey& key) {
    std::vector<uint8_t> first;
    const Block block = RunOnImage("random_crop", p, kGrey, Pixels(Positions()), 30, key);
    for (const Cell& cell : block.column(0)) first.push_back(cell.as<uint8_t>()[0]);
    return first;
  };
  const RandomKey key{.seed = 1, .epoch = 2, .step = 3};
  EXPECT_EQ(draws(params, key), draws(params, key));
  EXPECT_NE(draws(params, key), draws(params, {.seed = 1, .epoch = 3, .step = 3}));
  EXPECT_NE(draws(params, key), draws(params, {.seed = 1, .epoch = 2, .step = 4}));
  const Params seeded = Params(params).Set("seed", 9);
  EXPECT_EQ(draws(seeded, key), draws(params, {.seed = 9, .epoch = 2, .step = 3}));
}

TEST(RandomCropTest, PaddingAddsABlackBorder) {
  const Params params =
      Params().Set("field", "image").Set("size", std::vector<int64_t>{20, 24}).Set("pad", 4);
  const Block block = RunOnImage("random_crop", params, kGrey, Pixels(MakeNoise(12, 16, 1, 1)), 1);
  const TestImage all = ImageOf(block.column(0)[0]);  // 12 + 8 by 16 + 8: the whole padded image
  const TestImage image = MakeNoise(12, 16, 1, 1);
  for (int64_t y = 0; y < 20; ++y) {
    for (int64_t x = 0; x < 24; ++x) {
      const bool inside = y >= 4 && y < 16 && x >= 4 && x < 20;
      ASSERT_EQ(all.view().row(y)[x], inside ? image.view().row(y - 4)[x - 4] : 0);
    }
  }
}

TEST(RandomCropTest, ASmallerImageFailsItsRow) {
  const Params params =
      Params().Set("field", "image").Set("size", std::vector<int64_t>{14, 14}).Set("pad", 0);
  const Block block = RunOnImage("random_crop", params, kGrey, Pixels(Positions()), 2);
  EXPECT_EQ(block.failures().size(), 2u);
  EXPECT_THAT(FirstFailure(block),
              testing::HasSubstr("image of 12 x 16 is smaller than the crop of 14 x 14"));
}

}  // namespace
}  // namespace headrace::op_test
