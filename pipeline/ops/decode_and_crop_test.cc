#include <filesystem>
#include <fstream>
#include <iterator>

#include "common/test_data.h"
#include "pipeline/ops/fuse_decode.h"
#include "pipeline/ops/image_rows.h"

namespace headrace::op_test {
namespace {

using testing::HasSubstr;

v1::Step MakeStep(std::string op, const Params& params) {
  v1::Step step;
  step.set_op(std::move(op));
  *step.mutable_params() = params.map();
  step.set_location("train.yaml:7");
  return step;
}

struct Made {
  std::unique_ptr<Op> op;
  Schema output;
};
Made Make(const v1::Step& step, const Schema& input) {
  OpRegistry registry;
  RegisterAll_ops(registry);
  auto op = (*registry.Find(step.op()))->make(step.params());
  EXPECT_TRUE(op.ok()) << op.status();
  auto output = (*op)->Bind(input);
  EXPECT_TRUE(output.ok()) << output.status();
  return {*std::move(op), *output};
}

Block Files(const std::vector<std::string>& files) {
  std::vector<std::vector<CellMaker>> rows;
  for (const std::string& file : files) rows.push_back({Text(file)});
  return Rows(std::make_shared<const Schema>(kFileSchema), rows);
}

void RunOp(const Op& op, Block& block, const RandomKey& key) {
  StepContext context;
  context.random = key;
  ASSERT_TRUE(dynamic_cast<const StatelessOp&>(op).Run(block, context).ok());
}

// Both ways over the same files; the crop is step 3 of the pipeline as written, decode_image
// step 2.
struct Both {
  Block apart, fused;
};
Both RunBoth(const Params& decode_params, const std::string& crop_name, const Params& crop_params,
             const std::vector<std::string>& files) {
  const v1::Step decode = MakeStep("decode_image", decode_params),
                 crop = MakeStep(crop_name, crop_params);
  const absl::StatusOr<v1::Step> fused = FuseDecodeWithCrop(decode, crop, 3);
  EXPECT_TRUE(fused.ok()) << fused.status();
  Both out{Files(files), Files(files)};
  const Made first = Make(decode, kFileSchema), second = Make(crop, first.output),
             one = Make(*fused, kFileSchema);
  EXPECT_EQ(one.output, second.output);
  RunOp(*first.op, out.apart, {.seed = 9, .epoch = 4, .step = 2});
  out.apart.Compact();
  RunOp(*second.op, out.apart, {.seed = 9, .epoch = 4, .step = 3});
  out.apart.Compact();
  RunOp(*one.op, out.fused, {.seed = 9, .epoch = 4, .step = 2});
  out.fused.Compact();
  EXPECT_EQ(out.apart.rows(), out.fused.rows());
  return out;
}

const Params kImage = Params().Set("field", "image");
Params Sized(int64_t height, int64_t width) {
  return Params(kImage).Set("size", std::vector<int64_t>{height, width});
}

// Small pictures: no coarser scale is used at a result of 64 x 80, and large ones, where it is.
std::vector<std::string> MadeFiles(int64_t height, int64_t width) {
  const TestImage picture = MakePicture(height, width), grey = MakePicture(height, width, 1);
  return {EncodeJpeg(picture.view(), {.quality = 92}),
          EncodeJpeg(picture.view(), {.quality = 92, .horizontal = 1, .vertical = 1}),
          EncodeJpeg(picture.view(), {.quality = 92, .horizontal = 2, .vertical = 1}),
          EncodeJpeg(picture.view(), {.quality = 92, .progressive = true}),
          EncodeJpeg(grey.view(), {.quality = 92}),
          EncodeJpeg(MakePicture(height, width, 4).view(), {.quality = 92}),
          EncodePng(picture.view()),
          EncodeWebpLossless(picture.view())};
}

TEST(DecodeAndCropTest, AtFullScaleFusedAndUnfusedGiveTheSameBytes) {
  const std::vector<std::string> files = MadeFiles(100, 120);
  const std::pair<std::string, Params> crops[] = {
      {"resize", Sized(64, 80)},
      {"resize", Params(kImage).Set("size", std::vector<int64_t>{70}).Set("method", "bicubic")},
      {"center_crop", Sized(64, 80)},
      {"random_crop", Sized(64, 80).Set("pad", 0)},
      {"random_resized_crop", Sized(64, 80)},
      {"random_resized_crop",
       Sized(64, 80).Set("seed", 77).Set("scale", std::vector<double>{0.2, 0.3})}};
  for (const auto& [name, params] : crops) {
    for (int channels : {1, 3}) {
      const Both both = RunBoth(Params(kImage).Set("channels", channels), name, params, files);
      ASSERT_EQ(both.apart.rows(), files.size());
      for (size_t row = 0; row < files.size(); ++row) {
        EXPECT_EQ(both.fused.column(0)[row].shape, both.apart.column(0)[row].shape);
        EXPECT_EQ(ImageOf(both.fused.column(0)[row]).pixels,
                  ImageOf(both.apart.column(0)[row]).pixels)
            << name << " of file " << row;
      }
    }
  }
}

// The stated tolerance: a mean of 2 of 255 levels for each image, where the decoder scales.
TEST(DecodeAndCropTest, AtCoarserScalesTheDifferenceIsSmall) {
  const std::vector<std::string> files = MadeFiles(500, 700);
  for (const char* name : {"resize", "random_resized_crop"}) {
    const Both both = RunBoth(kImage, name, Sized(64, 80), files);
    for (size_t row = 0; row < files.size(); ++row) {
      const TestImage fused = ImageOf(both.fused.column(0)[row]),
                      apart = ImageOf(both.apart.column(0)[row]);
      EXPECT_LT(MeanAbsoluteDifference(fused.view(), apart.view()), 2.0)
          << name << " of file " << row;
    }
  }
}

TEST(DecodeAndCropTest, OnImageNetTheDifferenceIsSmall) {
  const std::filesystem::path folder = std::filesystem::path(SharedData()) / "imagenet";
  if (SharedData().empty() || !std::filesystem::is_directory(folder)) {
    GTEST_SKIP() << "no " << folder << ": the tests on made files stand alone";
  }
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".JPEG") continue;
    std::ifstream file(entry.path(), std::ios::binary);
    files.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  ASSERT_EQ(files.size(), 250u);
  for (int64_t size : {224, 64}) {
    const Both both = RunBoth(kImage, "random_resized_crop", Sized(size, size), files);
    ASSERT_EQ(both.apart.rows(), 250u);
    double sum = 0, worst = 0;
    for (size_t row = 0; row < 250; ++row) {
      const TestImage fused = ImageOf(both.fused.column(0)[row]),
                      apart = ImageOf(both.apart.column(0)[row]);
      const double difference = MeanAbsoluteDifference(fused.view(), apart.view());
      sum += difference;
      worst = std::max(worst, difference);
    }
    RecordProperty(fmt::format("mean_{}", size), fmt::format("{:.3f}", sum / 250));
    RecordProperty(fmt::format("worst_{}", size), fmt::format("{:.3f}", worst));
    // Few crops are more than twice 224 a side, most are of 64. An image decoded at half the size
    // or less is a little sharper: its pixels are means of squares, not of overlapping triangles.
    EXPECT_LT(sum / 250, size == 224 ? 0.1 : 1.5);
    EXPECT_LT(worst, size == 224 ? 2.0 : 5.0);
  }
}

TEST(DecodeAndCropTest, RowsFailAlikeAndForTheSameReason) {
  const std::string good = EncodeJpeg(MakePicture(100, 120).view());
  const std::vector<std::string> files = {"text",
                                          good,
                                          "",
                                          good.substr(0, good.size() / 2),
                                          good.substr(0, good.size() - 60),
                                          EncodeJpeg(MakePicture(20, 120).view()),
                                          EncodeJpeg(MakePicture(200, 200).view())};
  const Both both =
      RunBoth(Params(kImage).Set("max_pixels", 39'999), "center_crop", Sized(64, 80), files);
  EXPECT_EQ(both.fused.rows(), 1u);
  ASSERT_EQ(both.fused.failures().size(), 6u);
  // The unfused chain fails in two rounds; by record they must agree.
  for (const RowFailure& failure : both.fused.failures()) {
    bool found = false;
    for (const RowFailure& other : both.apart.failures()) {
      if (other.record != failure.record) continue;
      found = true;
      EXPECT_EQ(failure.status.code(), other.status.code())
          << failure.status << " / " << other.status;
      EXPECT_THAT(std::string(failure.status.message()), HasSubstr("field 'image': "));
    }
    EXPECT_TRUE(found);
  }
}

TEST(FuseDecodeTest, TheStepKeepsEveryParameterAndTheCropsPlace) {
  const v1::Step decode = MakeStep("decode_image", Params(kImage).Set("max_pixels", 1000));
  const v1::Step crop = MakeStep("random_resized_crop", Sized(64, 80).Set("seed", 5));
  const v1::Step fused = FuseDecodeWithCrop(decode, crop, 6).value();
  EXPECT_EQ(fused.op(), "_decode_and_crop");
  EXPECT_EQ(fused.location(), "train.yaml:7");
  std::vector<std::string> names;
  for (const v1::NamedValue& entry : fused.params().entries()) names.push_back(entry.name());
  EXPECT_THAT(names,
              testing::ElementsAre("crop", "field", "max_pixels", "size", "seed", "crop_step"));
  EXPECT_TRUE(dynamic_cast<StatelessOp&>(*Make(fused, kFileSchema).op).traits().random);
  EXPECT_FALSE(
      Make(FuseDecodeWithCrop(decode, MakeStep("resize", Sized(4, 4))).value(), kFileSchema)
          .op->traits()
          .random);
}

TEST(FuseDecodeTest, OtherPairsAreRefusedWithTheReason) {
  const v1::Step decode = MakeStep("decode_image", kImage);
  const auto why = [&](const v1::Step& a, const v1::Step& b) {
    EXPECT_FALSE(CanFuseDecode(a, b));
    const absl::Status status = FuseDecodeWithCrop(a, b, 1).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    return std::string(status.message());
  };
  EXPECT_THAT(why(decode, MakeStep("random_flip", kImage)),
              HasSubstr("'random_flip' does not take a part"));
  EXPECT_THAT(why(MakeStep("take", {}), MakeStep("resize", Sized(4, 4))),
              HasSubstr("'take' is not decode_image"));
  EXPECT_THAT(why(decode, MakeStep("resize", Params().Set("field", "mask").Set("size", 4))),
              HasSubstr("fields differ"));
  EXPECT_THAT(why(decode, MakeStep("random_crop", Sized(4, 4).Set("pad", 2))), HasSubstr("pads"));
}

}  // namespace
}  // namespace headrace::op_test
