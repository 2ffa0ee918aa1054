#include "pipeline/imaging/decode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status.h"
#include "pipeline/imaging/test_images.h"

namespace headrace {
namespace {

using ::testing::HasSubstr;

struct Decoded {
  absl::Status status;
  TestImage image;
  int64_t left = 0;
  int64_t top = 0;
  int scale = 0;
};

Decoded Decode(std::string_view bytes, const DecodeOptions& options = {}) {
  Decoded out;
  const absl::StatusOr<DecodedImage> decoded = DecodeImage(bytes, options, [&](size_t size) {
    out.image.pixels.resize(size);
    return reinterpret_cast<std::byte*>(out.image.pixels.data());
  });
  out.status = decoded.status();
  if (!decoded.ok()) return out;
  out.image.height = decoded->pixels.height;
  out.image.width = decoded->pixels.width;
  out.image.channels = decoded->pixels.channels;
  out.left = decoded->left;
  out.top = decoded->top;
  out.scale = decoded->scale_eighths;
  return out;
}

// The pixels of `region` (at scale m/8) of a whole image and of a decoded part must be the same
// bytes.
void ExpectSameInside(const TestImage& whole, const Decoded& part, const Region& region, int m) {
  ASSERT_TRUE(part.status.ok()) << part.status;
  const int64_t left = region.left * m / 8,
                right = std::min((region.right() * m + 7) / 8, whole.width);
  const int64_t top = region.top * m / 8,
                bottom = std::min((region.bottom() * m + 7) / 8, whole.height);
  ASSERT_LE(part.left, left);
  ASSERT_LE(part.top, top);
  ASSERT_GE(part.left + part.image.width, right);
  ASSERT_GE(part.top + part.image.height, bottom);
  for (int64_t y = top; y < bottom; ++y) {
    for (int64_t x = left * whole.channels; x < right * whole.channels; ++x) {
      ASSERT_EQ(whole.view().row(y)[x],
                part.image.view().row(y - part.top)[x - part.left * whole.channels])
          << "row " << y << " byte " << x;
    }
  }
}

TEST(DecodeTest, LosslessKindsGiveBackTheirPixels) {
  for (auto [height, width] : {std::pair{1, 1}, {7, 13}, {64, 64}, {101, 57}}) {
    const TestImage rgb = MakePicture(height, width);
    const TestImage grey = MakePicture(height, width, 1);
    EXPECT_EQ(Decode(EncodePng(rgb.view())).image.pixels, rgb.pixels);
    EXPECT_EQ(Decode(EncodeWebpLossless(rgb.view())).image.pixels, rgb.pixels);
    EXPECT_EQ(Decode(EncodePng(grey.view()), {.channels = 1}).image.pixels, grey.pixels);
  }
}

TEST(DecodeTest, JpegOfEverySamplingIsCloseToItsPicture) {
  const TestImage picture = MakePicture(150, 201);
  for (const JpegForm form : {JpegForm{95, 1, 1},
                              {95, 2, 1},
                              {95, 2, 2},
                              {95, 1, 2},
                              {95, 2, 2, true},
                              {95, 1, 1, false, 3}}) {
    const Decoded got = Decode(EncodeJpeg(picture.view(), form));
    ASSERT_TRUE(got.status.ok()) << got.status;
    EXPECT_LT(MeanAbsoluteDifference(got.image.view(), picture.view()), 4.0);
  }
}

TEST(DecodeTest, GreyAndColourConvertIntoEachOther) {
  const TestImage grey = MakePicture(40, 50, 1);
  const std::string files[] = {EncodeJpeg(grey.view(), {.quality = 100}), EncodePng(grey.view())};
  for (const std::string& file : files) {
    const Decoded colour = Decode(file);
    ASSERT_EQ(colour.image.channels, 3);
    for (size_t i = 0; i < grey.pixels.size(); ++i) {
      ASSERT_NEAR(colour.image.pixels[3 * i], grey.pixels[i], 2);
      ASSERT_EQ(colour.image.pixels[3 * i], colour.image.pixels[3 * i + 2]);
    }
  }
  const TestImage rgb = MakePicture(40, 50);
  const std::string colour_files[] = {
      EncodeJpeg(rgb.view(), {.quality = 100, .horizontal = 1, .vertical = 1}),
      EncodePng(rgb.view()), EncodeWebpLossless(rgb.view())};
  for (const std::string& file : colour_files) {
    const Decoded got = Decode(file, {.channels = 1});
    ASSERT_EQ(got.image.channels, 1);
    for (size_t i = 0; i < got.image.pixels.size(); ++i) {
      const uint8_t* p = &rgb.pixels[3 * i];
      ASSERT_NEAR(got.image.pixels[i], 0.299 * p[0] + 0.587 * p[1] + 0.114 * p[2], 3);
    }
  }
}

TEST(DecodeTest, AlphaIsDropped) {
  const TestImage rgba = MakePicture(9, 11, 4);
  const Decoded got = Decode(EncodePng(rgba.view()));
  ASSERT_EQ(got.image.channels, 3);
  for (size_t i = 0; i < 99; ++i) {
    for (size_t c = 0; c < 3; ++c) ASSERT_EQ(got.image.pixels[3 * i + c], rgba.pixels[4 * i + c]);
  }
}

TEST(DecodeTest, AdobeCmykBecomesTheLightThatIsLeft) {
  TestImage cmyk{16, 16, 4, std::vector<uint8_t>(16 * 16 * 4)};
  for (size_t i = 0; i < 256; ++i) {
    const uint8_t value[4] = {200, 100, 50, 128};  // inverted inks
    std::copy_n(value, 4, &cmyk.pixels[4 * i]);
  }
  const Decoded got = Decode(EncodeJpeg(cmyk.view(), {.quality = 100}));
  ASSERT_TRUE(got.status.ok()) << got.status;
  EXPECT_NEAR(got.image.pixels[0], 200 * 128 / 255, 2);
  EXPECT_NEAR(got.image.pixels[1], 100 * 128 / 255, 2);
  EXPECT_NEAR(got.image.pixels[2], 50 * 128 / 255, 2);
}

TEST(DecodeTest, PeekTellsSizeAndKindWithoutPixels) {
  const TestImage rgb = MakePicture(20, 30);
  const std::string jpeg = EncodeJpeg(rgb.view());
  const absl::StatusOr<ImageHeader> got = PeekImage(std::string_view(jpeg).substr(0, 640));
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->height, 20);
  EXPECT_EQ(got->width, 30);
  EXPECT_EQ(got->channels, 3);
  EXPECT_EQ(PeekImage(EncodePng(MakePicture(5, 6, 1).view()))->channels, 1);
  EXPECT_EQ(PeekImage(EncodeWebpLossless(rgb.view()))->width, 30);
}

TEST(DecodeTest, PeekSizesEveryFormOfJpegAsItDecodes) {
  const std::vector<JpegForm> forms = {{},
                                       {.horizontal = 1, .vertical = 1},
                                       {.horizontal = 2, .vertical = 1},
                                       {.progressive = true},
                                       {.restart_interval = 2}};
  for (const int64_t channels : {1, 3, 4}) {
    for (const JpegForm& form : forms) {
      const std::string jpeg = EncodeJpeg(MakePicture(67, 300, channels).view(), form);
      const absl::StatusOr<ImageHeader> header = PeekImage(jpeg);
      ASSERT_TRUE(header.ok()) << header.status();
      const Decoded decoded = Decode(jpeg);
      ASSERT_TRUE(decoded.status.ok()) << decoded.status;
      EXPECT_EQ(header->height, decoded.image.height);
      EXPECT_EQ(header->width, decoded.image.width);
      EXPECT_EQ(header->channels, channels);
    }
  }
}

TEST(DecodeTest, PeekAtAHeaderCutAnywhereIsAnError) {
  const std::string jpeg = EncodeJpeg(MakePicture(20, 30).view());
  const size_t frame = jpeg.find("\xff\xc0");
  ASSERT_NE(frame, std::string::npos);
  for (size_t size = 0; size < frame + 10; ++size) {
    EXPECT_FALSE(PeekImage(std::string_view(jpeg).substr(0, size)).ok()) << size;
  }
  std::string empty = jpeg;
  empty[frame + 5] = empty[frame + 6] = 0;  // no height
  EXPECT_FALSE(PeekImage(empty).ok());
}

TEST(DecodeTest, APartOfAJpegIsTheSameBytesAsThatPartOfTheWhole) {
  const TestImage picture = MakePicture(203, 277);
  for (const JpegForm form : {JpegForm{85, 1, 1},
                              {85, 2, 1},
                              {85, 2, 2},
                              {85, 1, 2},
                              {85, 2, 2, true},
                              {85, 2, 2, false, 5}}) {
    const std::string jpeg = EncodeJpeg(picture.view(), form);
    for (int m : {1, 2, 4, 8}) {
      const Decoded whole = Decode(jpeg, {.scale_eighths = m});
      ASSERT_TRUE(whole.status.ok()) << whole.status;
      for (const Region r : {Region{0, 0, 277, 203},
                             {0, 0, 1, 1},
                             {276, 202, 1, 1},
                             {33, 47, 100, 90},
                             {16, 16, 32, 32},
                             {150, 3, 127, 60},
                             {7, 100, 64, 103}}) {
        SCOPED_TRACE(fmt::format("{}x{} progressive={} m={} region {},{} {}x{}", form.horizontal,
                                 form.vertical, form.progressive, m, r.left, r.top, r.width,
                                 r.height));
        ExpectSameInside(whole.image, Decode(jpeg, {.region = r, .scale_eighths = m}), r,
                         whole.scale);
      }
    }
  }
}

TEST(DecodeTest, APartOfAGreyOrCmykJpegIsTheSameBytesToo) {
  for (int channels : {1, 4}) {
    const std::string jpeg = EncodeJpeg(MakePicture(90, 120, channels).view());
    for (int out : {1, 3}) {
      const Decoded whole = Decode(jpeg, {.channels = out});
      const Region r{41, 37, 30, 20};
      ExpectSameInside(whole.image, Decode(jpeg, {.channels = out, .region = r}), r, 8);
    }
  }
}

TEST(DecodeTest, ZeroBytesAndTextAndOtherKindsSayWhatWasFound) {
  EXPECT_EQ(Decode("").status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(Decode("").status.message()), HasSubstr("zero bytes"));
  EXPECT_THAT(std::string(Decode("<html>404 not found").status.message()),
              HasSubstr("text that starts with '<html>404 not fo'"));
  EXPECT_THAT(std::string(Decode("GIF89a....").status.message()), HasSubstr("a GIF"));
  EXPECT_THAT(std::string(Decode(std::string(9, '\0')).status.message()), HasSubstr("00 00"));
}

TEST(DecodeTest, ACutJpegIsAnErrorWhereverItIsCut) {
  for (bool progressive : {false, true}) {
    const std::string jpeg =
        EncodeJpeg(MakePicture(120, 160).view(), {.quality = 90, .progressive = progressive});
    for (size_t keep = 3; keep + 8 < jpeg.size(); keep += 97) {
      const Decoded got = Decode(std::string_view(jpeg).substr(0, keep));
      ASSERT_EQ(got.status.code(), absl::StatusCode::kDataLoss)
          << "kept " << keep << ": " << got.status;
      ASSERT_THAT(std::string(got.status.message()), HasSubstr(fmt::format("{} bytes end", keep)));
    }
    // The verdict is the same when only the top is asked for.
    const Decoded top = Decode(std::string_view(jpeg).substr(0, jpeg.size() - 200),
                               {.region = Region{0, 0, 160, 8}});
    EXPECT_EQ(top.status.code(), absl::StatusCode::kDataLoss) << top.status;
  }
}

TEST(DecodeTest, AJpegThatLacksOnlyItsEndMarkerIsWhole) {
  const std::string jpeg = EncodeJpeg(MakePicture(50, 70).view());
  const Decoded got = Decode(std::string_view(jpeg).substr(0, jpeg.size() - 2));
  EXPECT_TRUE(got.status.ok()) << got.status;
  EXPECT_EQ(got.image.pixels, Decode(jpeg).image.pixels);
}

TEST(DecodeTest, AWreckedEntropyCodeIsAnErrorNotGreyPixels) {
  std::string jpeg = EncodeJpeg(MakePicture(120, 160).view(), {.quality = 95});
  // A marker in the middle of the data: what a hole in a file, or two files written over each
  // other, looks like.
  jpeg.replace(jpeg.size() / 2, 4, "\xff\xd9\xff\xd9");
  const Decoded got = Decode(jpeg);
  EXPECT_EQ(got.status.code(), absl::StatusCode::kDataLoss) << got.status;
  EXPECT_THAT(std::string(got.status.message()), HasSubstr("near byte"));
}

TEST(DecodeTest, CutPngAndWebpAreErrors) {
  const TestImage picture = MakePicture(60, 80);
  for (const std::string& file : {EncodePng(picture.view()), EncodeWebpLossless(picture.view())}) {
    for (size_t keep : {size_t{13}, size_t{40}, file.size() / 2, file.size() - 40}) {
      const Decoded got = Decode(std::string_view(file).substr(0, keep));
      EXPECT_EQ(got.status.code(), absl::StatusCode::kDataLoss)
          << "kept " << keep << ": " << got.status;
    }
  }
}

TEST(DecodeTest, AFlippedByteInAPngIsAnError) {
  std::string png = EncodePng(MakePicture(60, 80).view());
  png[png.size() / 2] = static_cast<char>(png[png.size() / 2] ^ 0x10);
  EXPECT_EQ(Decode(png).status.code(), absl::StatusCode::kDataLoss);
}

TEST(DecodeTest, AnImageOverTheLimitNamesTheLimitAndItsParameter) {
  const TestImage wide{1, 20000, 1, std::vector<uint8_t>(20000)};
  for (const std::string& file : {EncodeJpeg(wide.view()), EncodePng(wide.view())}) {
    const Decoded got = Decode(file, {.max_pixels = 19'999});
    EXPECT_EQ(got.status.code(), absl::StatusCode::kOutOfRange);
    EXPECT_THAT(std::string(got.status.message()), HasSubstr("20000 x 1 = 20000 pixels"));
    EXPECT_THAT(std::string(got.status.message()), HasSubstr("max_pixels = 19999"));
    EXPECT_TRUE(Decode(file, {.max_pixels = 20'000}).status.ok());
  }
}

// A header that claims 65,500 x 65,500 in a file of a few hundred bytes must be refused before
// anything is allocated.
TEST(DecodeTest, ABombIsRefusedFromItsHeader) {
  std::string jpeg = EncodeJpeg(MakePicture(8, 8).view());
  const size_t sof = jpeg.find("\xff\xc0");
  ASSERT_NE(sof, std::string::npos);
  jpeg.replace(sof + 5, 4, "\xff\xdc\xff\xdc");
  bool asked = false;
  const absl::StatusOr<DecodedImage> got = DecodeImage(jpeg, {}, [&](size_t) -> std::byte* {
    asked = true;
    return nullptr;
  });
  EXPECT_EQ(got.status().code(), absl::StatusCode::kOutOfRange) << got.status();
  EXPECT_FALSE(asked);
}

}  // namespace
}  // namespace headrace
