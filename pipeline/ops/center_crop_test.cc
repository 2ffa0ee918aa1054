#include "pipeline/ops/image_crop.h"
#include "pipeline/ops/image_rows.h"

namespace headrace::op_test {
namespace {

Params Sized(std::vector<int64_t> size) {
  return Params().Set("field", "image").Set("size", std::move(size));
}

TEST(CenterCropTest, TheMiddleIsTaken) {
  const TestImage picture = MakePicture(11, 20);
  const Block block = RunOnImage("center_crop", Sized({5, 8}), PixelSchema(), Pixels(picture));
  EXPECT_EQ(block.schema()[0].shape, (Shape{5, 8, 3}));
  const TestImage got = ImageOf(block.column(0)[0]);
  for (int64_t y = 0; y < 5; ++y) {
    EXPECT_TRUE(
        std::equal(got.view().row(y), got.view().row(y) + 24, picture.view().row(y + 3) + 6 * 3));
  }
}

// int(round((height - size) / 2)) in Python, as torchvision has it.
TEST(CenterCropTest, HalvesAreRoundedToEven) {
  for (auto [left_over, offset] :
       {std::pair{0, 0}, {1, 0}, {2, 1}, {3, 2}, {4, 2}, {5, 2}, {6, 3}, {7, 4}, {9, 4}}) {
    EXPECT_EQ(CenterRegion(10 + left_over, 10, {10, 10})->top, offset) << left_over;
  }
}

TEST(CenterCropTest, ASmallerImageFailsItsRow) {
  const Block block =
      RunOnImage("center_crop", Sized({32}), PixelSchema(), Pixels(MakePicture(31, 40)));
  EXPECT_EQ(FirstFailure(block),
            "field 'image': image of 31 x 40 is smaller than the crop of 32 x 32 (height x width); "
            "resize it first");
}

TEST(CenterCropTest, AnImageOfThatSizeIsNotCopied) {
  auto step = Build("center_crop", Sized({8, 8}), PixelSchema());
  ASSERT_TRUE(step.ok());
  Block block = Rows(step->input, {{Pixels(MakePicture(8, 8))}});
  const std::byte* before = block.column(0)[0].data;
  ASSERT_TRUE(RunStateless(*step, block).ok());
  EXPECT_EQ(block.column(0)[0].data, before);
}

}  // namespace
}  // namespace headrace::op_test
