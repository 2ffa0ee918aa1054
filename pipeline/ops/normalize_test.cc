#include "pipeline/ops/image_rows.h"

namespace headrace::op_test {
namespace {

using testing::HasSubstr;

const std::vector<double> kMean{0.485, 0.456, 0.406}, kStd{0.229, 0.224, 0.225};

TEST(NormalizeTest, PixelsAreInUnitsOfTheDeviation) {
  const TestImage picture = MakePicture(9, 13);
  for (const char* layout : {"hwc", "chw"}) {
    const Params params =
        Params().Set("field", "image").Set("mean", kMean).Set("std", kStd).Set("layout", layout);
    const bool chw = layout[0] == 'c';
    const Block block =
        RunOnImage("normalize", params, PixelSchema(DType::kUInt8, {9, 13, 3}), Pixels(picture));
    EXPECT_EQ(block.schema()[0],
              (Field{"image", DType::kFloat32, chw ? Shape{3, 9, 13} : Shape{9, 13, 3}}));
    const auto got = block.column(0)[0].as<float>();
    for (size_t p = 0; p < 9 * 13; ++p) {
      for (size_t c = 0; c < 3; ++c) {
        const double want = (picture.pixels[p * 3 + c] / 255.0 - kMean[c]) / kStd[c];
        ASSERT_NEAR(got[chw ? c * 9 * 13 + p : p * 3 + c], want, 1e-6);
      }
    }
  }
}

TEST(NormalizeTest, ByDefaultPixelsGoToZeroToOneAndFloatsStay) {
  const TestImage white{1, 2, 3, std::vector<uint8_t>(6, 255)};
  const Params params = Params().Set("field", "image");
  EXPECT_EQ(Column<float>(RunOnImage("normalize", params, PixelSchema(), Pixels(white)), 0),
            std::vector<float>(6, 1.0f));
  EXPECT_EQ(
      Column<float>(
          RunOnImage("normalize", params, PixelSchema(DType::kFloat32), FloatPixels(white)), 0),
      std::vector<float>(6, 255.0f));
  EXPECT_EQ(Column<float>(
                RunOnImage("normalize",
                           Params(params).Set("scale", 2.0).Set("mean", std::vector<double>{10}),
                           PixelSchema(), Pixels(white)),
                0),
            std::vector<float>(6, 500.0f));
}

TEST(NormalizeTest, ListsMustFitTheChannels) {
  const Params params = Params().Set("field", "image").Set("mean", kMean).Set("std", kStd);
  EXPECT_EQ(MessageOf(Build("normalize", params, PixelSchema(DType::kUInt8, {-1, -1, 1}))),
            "mean has 3 values, field 'image' is [?, ?, 1]");
  EXPECT_THAT(MessageOf(Build("normalize", Params(params).Set("layout", "nchw"), PixelSchema())),
              HasSubstr("'hwc' or 'chw'"));
  EXPECT_THAT(MessageOf(Build("normalize",
                              Params().Set("field", "image").Set("std", std::vector<double>{0.0}),
                              PixelSchema())),
              HasSubstr("std: expected numbers above 0"));
  // Left open by the schema: a row that does not fit fails.
  const Block block = RunOnImage("normalize", params, PixelSchema(DType::kUInt8, {-1, -1, -1}),
                                 Pixels(MakePicture(2, 2, 1)));
  EXPECT_EQ(FirstFailure(block), "field 'image': image is [2, 2, 1], mean and std have 3 values");
}

}  // namespace
}  // namespace headrace::op_test
