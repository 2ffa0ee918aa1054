#include "pipeline/imaging/decode.h"
#include "pipeline/ops/image_rows.h"

namespace headrace::op_test {
namespace {

using testing::HasSubstr;

const Params kParams = Params().Set("field", "image");

TEST(DecodeImageTest, AFileBecomesPixelsOfTheSameImage) {
  const TestImage picture = MakePicture(20, 30);
  const Block block =
      RunOnImage("decode_image", kParams, kFileSchema, Text(EncodePng(picture.view())));
  ASSERT_EQ(block.rows(), 1u);
  EXPECT_EQ(block.schema().ToString(), "{image: uint8 [?, ?, 3]}");
  EXPECT_EQ(ImageOf(block.column(0)[0]).pixels, picture.pixels);
}

TEST(DecodeImageTest, GreyIsOneChannel) {
  const Block block = RunOnImage("decode_image", Params().Set("field", "image").Set("channels", 1),
                                 kFileSchema, Text(EncodeJpeg(MakePicture(20, 30).view())));
  EXPECT_EQ(block.column(0)[0].shape, (Shape{20, 30, 1}));
}

TEST(DecodeImageTest, ADamagedRowFailsAndTheOthersGoOn) {
  auto step = Build("decode_image", kParams, kFileSchema);
  ASSERT_TRUE(step.ok());
  const std::string good = EncodeJpeg(MakePicture(20, 30).view());
  Block block = Rows(
      step->input,
      {{Text("not an image")}, {Text(good)}, {Text("")}, {Text(good.substr(0, good.size() / 2))}});
  ASSERT_TRUE(RunStateless(*step, block).ok());
  EXPECT_EQ(block.rows(), 1u);
  ASSERT_EQ(block.failures().size(), 3u);
  EXPECT_THAT(FirstFailure(block), HasSubstr("field 'image': not a JPEG, PNG or WebP image"));
  EXPECT_EQ(block.failures()[2].record.first, 3u);
  EXPECT_EQ(block.failures()[2].status.code(), absl::StatusCode::kDataLoss);
}

TEST(DecodeImageTest, AnImageOverTheLimitFailsItsRowAndNamesTheParameter) {
  const Block block =
      RunOnImage("decode_image", Params().Set("field", "image").Set("max_pixels", 599), kFileSchema,
                 Text(EncodeJpeg(MakePicture(20, 30).view())));
  EXPECT_EQ(block.rows(), 0u);
  EXPECT_THAT(FirstFailure(block), HasSubstr("max_pixels = 599"));
}

TEST(DecodeImageTest, AFieldThatIsNoFileIsRefusedWhenBuilt) {
  EXPECT_EQ(
      MessageOf(Build("decode_image", kParams, PixelSchema())),
      "field 'image' is uint8 [?, ?, 3]; decode_image takes the bytes of an image file: bytes []");
  EXPECT_THAT(MessageOf(Build("decode_image", Params().Set("field", "image").Set("channels", 4),
                              kFileSchema)),
              HasSubstr("channels: expected 3 (RGB) or 1 (grey), got 4"));
}

}  // namespace
}  // namespace headrace::op_test
