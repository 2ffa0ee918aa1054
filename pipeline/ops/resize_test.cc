#include "pipeline/imaging/resample.h"
#include "pipeline/ops/image_rows.h"

namespace headrace::op_test {
namespace {

using testing::HasSubstr;

Params Sized(std::vector<int64_t> size) {
  return Params().Set("field", "image").Set("size", std::move(size));
}

TEST(ResizeTest, EveryImageGetsTheSizeAndTheSchemaKnowsIt) {
  const TestImage picture = MakePicture(50, 80);
  const Block block = RunOnImage("resize", Sized({20, 24}), PixelSchema(), Pixels(picture));
  EXPECT_EQ(block.schema()[0].shape, (Shape{20, 24, 3}));
  std::vector<uint8_t> want(20 * 24 * 3);
  Resample(picture.view(), {0, 0, 80, 50}, ResampleMethod::kBilinear, 20, 24, want.data());
  EXPECT_EQ(ImageOf(block.column(0)[0]).pixels, want);
}

TEST(ResizeTest, OneNumberIsTheShorterSide) {
  EXPECT_EQ(RunOnImage("resize", Sized({32}), PixelSchema(), Pixels(MakePicture(50, 80)))
                .column(0)[0]
                .shape,
            (Shape{32, 51, 3}));
  EXPECT_EQ(RunOnImage("resize", Sized({32}), PixelSchema(), Pixels(MakePicture(80, 50)))
                .column(0)[0]
                .shape,
            (Shape{51, 32, 3}));
}

TEST(ResizeTest, AThinImageThatWouldBecomeHugeFailsItsRow) {
  const Block block =
      RunOnImage("resize", Sized({2000}), PixelSchema(), Pixels(MakePicture(1, 5000)));
  EXPECT_EQ(block.rows(), 0u);
  EXPECT_THAT(FirstFailure(block), HasSubstr("more than 178956970 pixels"));
}

TEST(ResizeTest, Float32StaysFloat32) {
  const TestImage picture = MakePicture(50, 80);
  const Block block = RunOnImage("resize", Sized({20, 24}).Set("method", "bicubic"),
                                 PixelSchema(DType::kFloat32, {50, 80, 3}), FloatPixels(picture));
  EXPECT_EQ(block.schema()[0], (Field{"image", DType::kFloat32, {20, 24, 3}}));
}

TEST(ResizeTest, WrongFieldsAndParametersAreRefusedWhenBuilt) {
  EXPECT_EQ(MessageOf(Build("resize", Sized({4, 4}), kFileSchema)),
            "field 'image' is bytes; decode it first with decode_image");
  EXPECT_EQ(MessageOf(Build("resize", Sized({4, 4}), PixelSchema(DType::kInt64, {3}))),
            "field 'image' is int64 [3]; resize takes an image: uint8 or float32 [height, width, "
            "channels]");
  EXPECT_THAT(MessageOf(Build("resize", Sized({4, 4}), PixelSchema(DType::kUInt8, {3, 224, 224}))),
              HasSubstr("1 or 3 channels, as the last dimension"));
  EXPECT_THAT(MessageOf(Build("resize", Sized({4, 0}), PixelSchema())),
              HasSubstr("size: [4, 0] is not possible"));
  EXPECT_THAT(MessageOf(Build("resize", Sized({1, 2, 3}), PixelSchema())),
              HasSubstr("got 3 numbers"));
  EXPECT_THAT(MessageOf(Build("resize", Sized({4, 4}).Set("method", "nearest"), PixelSchema())),
              HasSubstr("expected 'bilinear' or 'bicubic'"));
}

TEST(ResizeTest, AChannelCountThatTheSchemaLeftOpenIsCheckedPerRow) {
  const Block block = RunOnImage("resize", Sized({4, 4}), PixelSchema(DType::kUInt8, {-1, -1, -1}),
                                 Pixels(MakeNoise(5, 5, 2, 1)));
  EXPECT_EQ(FirstFailure(block), "field 'image': image is [5, 5, 2]; expected 1 or 3 channels");
}

}  // namespace
}  // namespace headrace::op_test
