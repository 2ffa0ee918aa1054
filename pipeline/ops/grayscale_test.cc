#include "pipeline/ops/golden_image.h"

namespace headrace::op_test {
namespace {

const Params kOne = Params().Set("field", "image");
const Params kThree = Params().Set("field", "image").Set("channels", 3);

TEST(GrayscaleTest, GreyIsTorchvisions) {
  ExpectLikeTorchvision("grayscale", kOne, "grey_1", false, true);
  ExpectLikeTorchvision("grayscale", kThree, "grey_3");
}

TEST(GrayscaleTest, GreyStaysAndIsSpreadOverThreeChannels) {
  const TestImage grey{1, 2, 1, {7, 250}};
  const Schema schema = PixelSchema(DType::kUInt8, {-1, -1, -1});
  const Block one = RunOnImage("grayscale", kOne, schema, Pixels(grey));
  EXPECT_EQ(ImageOf(one.column(0)[0]).pixels, grey.pixels);
  const Block three = RunOnImage("grayscale", kThree, schema, Pixels(grey));
  EXPECT_EQ(ImageOf(three.column(0)[0]).pixels, (std::vector<uint8_t>{7, 7, 7, 250, 250, 250}));
}

TEST(GrayscaleTest, TheSchemaSaysHowManyChannelsComeOut) {
  const auto step = Build("grayscale", kOne, PixelSchema(DType::kFloat32, {8, -1, 3}));
  ASSERT_TRUE(step.ok());
  EXPECT_EQ((*step->output)[0].shape, (Shape{8, -1, 1}));
  EXPECT_EQ(MessageOf(Build("grayscale", Params(kOne).Set("channels", 2), PixelSchema())),
            "channels: expected 1 or 3, got 2");
}

}  // namespace
}  // namespace headrace::op_test
