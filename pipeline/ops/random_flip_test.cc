#include "pipeline/imaging/convert.h"
#include "pipeline/ops/image_rows.h"

namespace headrace::op_test {
namespace {

TestImage Mirrored(const TestImage& image, bool across, bool down) {
  TestImage out = image, between = image;
  const auto bytes = [](const TestImage& i) {
    return reinterpret_cast<const std::byte*>(i.pixels.data());
  };
  if (across) {
    FlipHorizontal(bytes(image), image.height, image.width, 3,
                   reinterpret_cast<std::byte*>(between.pixels.data()));
  }
  out = between;
  if (down)
    FlipVertical(bytes(between), image.height, image.width * 3,
                 reinterpret_cast<std::byte*>(out.pixels.data()));
  return out;
}

// How many of 2,000 rows came out mirrored across, down, both, not.
std::array<int, 4> Outcomes(const Params& params) {
  const TestImage picture = MakePicture(4, 7);
  const Block block = RunOnImage("random_flip", params, PixelSchema(), Pixels(picture), 2000);
  std::array<int, 4> counts{};
  for (const Cell& cell : block.column(0)) {
    const TestImage got = ImageOf(cell);
    int found = -1;
    for (int k = 0; k < 4; ++k) {
      if (got.pixels == Mirrored(picture, (k & 1) != 0, (k & 2) != 0).pixels) found = k;
    }
    EXPECT_GE(found, 0);
    ++counts[static_cast<size_t>(found)];
  }
  return counts;
}

TEST(RandomFlipTest, HalfOfTheImagesAreMirroredAcross) {
  const std::array<int, 4> counts = Outcomes(Params().Set("field", "image"));
  EXPECT_NEAR(counts[0], 1000, 100);
  EXPECT_EQ(counts[0] + counts[1], 2000);
}

TEST(RandomFlipTest, BothDirectionsAreDrawnApart) {
  const std::array<int, 4> counts =
      Outcomes(Params().Set("field", "image").Set("vertical", true).Set("probability", 0.25));
  EXPECT_NEAR(counts[0], 2000 * 9 / 16, 100);
  EXPECT_NEAR(counts[1], 2000 * 3 / 16, 80);
  EXPECT_NEAR(counts[2], 2000 * 3 / 16, 80);
  EXPECT_NEAR(counts[3], 2000 / 16, 50);
}

TEST(RandomFlipTest, ProbabilityZeroAndOneAreCertain) {
  EXPECT_EQ(Outcomes(Params().Set("field", "image").Set("probability", 0.0))[0], 2000);
  EXPECT_EQ(Outcomes(Params().Set("field", "image").Set("probability", 1.0))[1], 2000);
  EXPECT_THAT(MessageOf(Build("random_flip", Params().Set("field", "image").Set("probability", 1.5),
                              PixelSchema())),
              testing::HasSubstr("probability: expected 0 to 1"));
}

}  // namespace
}  // namespace headrace::op_test
