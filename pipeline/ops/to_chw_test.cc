#include "pipeline/ops/image_rows.h"

namespace headrace::op_test {
namespace {

TEST(ToChwTest, ChannelsComeFirstInDataAndSchema) {
  const TestImage picture = MakePicture(5, 8);
  const Params params = Params().Set("field", "image");
  const Block block =
      RunOnImage("to_chw", params, PixelSchema(DType::kUInt8, {-1, 8, 3}), Pixels(picture));
  EXPECT_EQ(block.schema()[0].shape, (Shape{3, -1, 8}));
  EXPECT_EQ(block.column(0)[0].shape, (Shape{3, 5, 8}));
  const Block floats =
      RunOnImage("to_chw", params, PixelSchema(DType::kFloat32), FloatPixels(picture));
  for (size_t p = 0; p < 40; ++p) {
    for (size_t c = 0; c < 3; ++c) {
      ASSERT_EQ(block.column(0)[0].as<uint8_t>()[c * 40 + p], picture.pixels[p * 3 + c]);
      ASSERT_EQ(floats.column(0)[0].as<float>()[c * 40 + p], picture.pixels[p * 3 + c]);
    }
  }
}

TEST(ToChwTest, TwiceIsRefused) {
  EXPECT_THAT(MessageOf(Build("to_chw", Params().Set("field", "image"),
                              PixelSchema(DType::kUInt8, {3, 5, 8}))),
              testing::HasSubstr("1 or 3 channels, as the last dimension"));
}

}  // namespace
}  // namespace headrace::op_test
