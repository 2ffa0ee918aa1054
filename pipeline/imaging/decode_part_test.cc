#include "pipeline/imaging/decode_part.h"

#include <gtest/gtest.h>

#include <vector>

#include "fmt/core.h"
#include "pipeline/imaging/test_images.h"

namespace headrace {
namespace {

struct Buffer {
  std::vector<uint8_t> bytes;
  std::byte* operator()(size_t size) {
    bytes.resize(size);
    return reinterpret_cast<std::byte*>(bytes.data());
  }
};

TEST(DecodePartTest, TheCoarsestScaleStillHasEveryPixelOfTheResult) {
  EXPECT_EQ(CoarsestScale(224, 224, 224, 224), 8);
  EXPECT_EQ(CoarsestScale(447, 448, 224, 224), 8);
  EXPECT_EQ(CoarsestScale(448, 448, 224, 224), 4);
  EXPECT_EQ(CoarsestScale(4000, 895, 224, 224), 4);
  EXPECT_EQ(CoarsestScale(896, 896, 224, 224), 2);
  EXPECT_EQ(CoarsestScale(5000, 5000, 224, 224), 1);
  EXPECT_EQ(CoarsestScale(100, 100, 224, 224), 8);
}

TEST(DecodePartTest, ARegionIsExactlyThatPartOfTheWhole) {
  const TestImage picture = MakePicture(90, 110);
  for (const std::string& file : {EncodeJpeg(picture.view()), EncodePng(picture.view()),
                                  EncodeWebpLossless(picture.view())}) {
    Buffer whole, part;
    ASSERT_TRUE(DecodeImage(file, {}, std::ref(whole)).ok());
    const Region region{37, 20, 50, 41};
    const absl::StatusOr<ImageView> got = DecodeRegion(file, region, {}, std::ref(part));
    ASSERT_TRUE(got.ok()) << got.status();
    const ImageView all{whole.bytes.data(), 90, 110, 3};
    for (int64_t y = 0; y < region.height; ++y) {
      ASSERT_TRUE(
          std::equal(got->row(y), got->row(y) + 150, all.row(region.top + y) + region.left * 3));
    }
  }
}

// The reader decodes less of what lies beside a cut than of what is inside; where that begins
// depends on the sampling, and restarts fall where they like.
TEST(DecodePartTest, ARegionIsExactlyThatPartInEveryFormOfJpeg) {
  const std::vector<JpegForm> forms = {{.horizontal = 2, .vertical = 2},
                                       {.horizontal = 2, .vertical = 1},
                                       {.horizontal = 1, .vertical = 2},
                                       {.horizontal = 1, .vertical = 1},
                                       {.restart_interval = 3},
                                       {.horizontal = 2, .vertical = 1, .restart_interval = 11},
                                       {.progressive = true}};
  for (const int64_t channels : {1, 3, 4}) {
    const TestImage picture = MakeNoise(83, 131, channels, 7);
    for (size_t f = 0; f < forms.size(); ++f) {
      const std::string file = EncodeJpeg(picture.view(), forms[f]);
      Buffer whole;
      ASSERT_TRUE(DecodeImage(file, {}, std::ref(whole)).ok());
      const ImageView all{whole.bytes.data(), 83, 131, 3};
      for (const Region region : {Region{0, 0, 20, 20},
                                  {61, 33, 30, 17},
                                  {111, 63, 20, 20},
                                  {16, 16, 16, 16},
                                  {64, 0, 1, 83},
                                  {0, 40, 131, 1}}) {
        Buffer part;
        const absl::StatusOr<ImageView> got = DecodeRegion(file, region, {}, std::ref(part));
        ASSERT_TRUE(got.ok()) << got.status();
        for (int64_t y = 0; y < region.height; ++y) {
          ASSERT_TRUE(std::equal(got->row(y), got->row(y) + region.width * 3,
                                 all.row(region.top + y) + region.left * 3))
              << channels << " channels, form " << f << ", region at " << region.left << ","
              << region.top << ", row " << y;
        }
      }
    }
  }
}

// What a pipeline without fusing gives.
std::vector<uint8_t> Apart(const std::string& file, const Box& box, ResampleMethod method,
                           int64_t size) {
  Buffer whole;
  const absl::StatusOr<DecodedImage> image = DecodeImage(file, {}, std::ref(whole));
  EXPECT_TRUE(image.ok()) << image.status();
  std::vector<uint8_t> out(static_cast<size_t>(size * size * 3));
  Resample(image->pixels, box, method, size, size, out.data());
  return out;
}

TEST(DecodePartTest, AtFullScaleTheResultIsTheSameBytes) {
  const TestImage picture = MakePicture(150, 170);
  for (const JpegForm& form : {JpegForm{90, 1, 1}, JpegForm{90, 2, 2}, JpegForm{90, 2, 2, true}}) {
    const std::string jpeg = EncodeJpeg(picture.view(), form);
    for (const Region region :
         {Region{0, 0, 170, 150}, {13, 11, 100, 90}, {90, 70, 80, 80}, {60, 60, 20, 31}}) {
      for (ResampleMethod method : {ResampleMethod::kBilinear, ResampleMethod::kBicubic}) {
        Buffer out;
        ASSERT_TRUE(DecodeRegionResampled(jpeg, region, method, 84, 84, {}, std::ref(out)).ok());
        EXPECT_EQ(out.bytes, Apart(jpeg, BoxOf(region), method, 84))
            << region.left << "," << region.top;
      }
    }
  }
}

TEST(DecodePartTest, AtCoarserScalesTheResultIsCloseAndNotShifted) {
  const TestImage picture = MakePicture(700, 900);
  for (const JpegForm& form : {JpegForm{90, 1, 1}, JpegForm{90, 2, 2}, JpegForm{90, 2, 1}}) {
    const std::string jpeg = EncodeJpeg(picture.view(), form);
    for (const Region region :
         {Region{0, 0, 900, 700}, {101, 203, 500, 405}, {333, 99, 480, 600}}) {
      for (int64_t size : {40, 64, 100, 200}) {
        SCOPED_TRACE(fmt::format("{}x{} at scale {}", form.horizontal, form.vertical,
                                 CoarsestScale(region.height, region.width, size, size)));
        Buffer out;
        ASSERT_TRUE(DecodeRegionResampled(jpeg, region, ResampleMethod::kBilinear, size, size, {},
                                          std::ref(out))
                        .ok());
        const ImageView got{out.bytes.data(), size, size, 3};
        const auto distance = [&](double shift) {
          Box box = BoxOf(region);
          // By a part of an output pixel, inside the image.
          box.left += shift * static_cast<double>(region.width) / static_cast<double>(size);
          box.top += shift * static_cast<double>(region.height) / static_cast<double>(size);
          const std::vector<uint8_t> want = Apart(jpeg, box, ResampleMethod::kBilinear, size);
          return MeanAbsoluteDifference(got, {want.data(), size, size, 3});
        };
        EXPECT_LT(distance(0), 2.0);
        EXPECT_GT(distance(0.5), 1.5 * distance(0));
      }
    }
  }
}

TEST(DecodePartTest, GreyAndOtherKindsGoTheSameWay) {
  const TestImage picture = MakePicture(100, 100);
  Buffer png, webp, grey;
  const Region region{10, 10, 80, 80};
  ASSERT_TRUE(DecodeRegionResampled(EncodePng(picture.view()), region, ResampleMethod::kBilinear,
                                    20, 20, {}, std::ref(png))
                  .ok());
  ASSERT_TRUE(DecodeRegionResampled(EncodeWebpLossless(picture.view()), region,
                                    ResampleMethod::kBilinear, 20, 20, {}, std::ref(webp))
                  .ok());
  EXPECT_EQ(png.bytes, webp.bytes);
  PartOptions options;
  options.channels = 1;
  ASSERT_TRUE(DecodeRegionResampled(EncodeJpeg(picture.view()), region, ResampleMethod::kBilinear,
                                    20, 20, options, std::ref(grey))
                  .ok());
  EXPECT_EQ(grey.bytes.size(), 400u);
}

TEST(DecodePartTest, ACutFileIsAnErrorThoughThePartIsThere) {
  const std::string jpeg = EncodeJpeg(MakePicture(300, 300).view());
  Buffer out;
  const absl::StatusOr<ImageView> got =
      DecodeRegionResampled(std::string_view(jpeg).substr(0, jpeg.size() * 9 / 10), {0, 0, 50, 50},
                            ResampleMethod::kBilinear, 20, 20, {}, std::ref(out));
  EXPECT_EQ(got.status().code(), absl::StatusCode::kDataLoss) << got.status();
}

}  // namespace
}  // namespace headrace
