#include "pipeline/ops/golden_image.h"

namespace headrace::op_test {
namespace {

// Which of `rows` records became grey.
std::vector<bool> Greyed(const Params& params, size_t rows, const RandomKey& key = {}) {
  const TestImage red{1, 1, 3, {200, 10, 10}};
  const Block block = RunOnImage("random_grayscale", params, PixelSchema(), Pixels(red), rows, key);
  std::vector<bool> out;
  for (const Cell& cell : block.column(0)) {
    const std::vector<uint8_t> got = ImageOf(cell).pixels;
    EXPECT_TRUE(got == red.pixels || got == std::vector<uint8_t>(3, 66));
    out.push_back(got != red.pixels);
  }
  return out;
}

TEST(RandomGrayscaleTest, AlwaysGreyIsTorchvisions) {
  ExpectLikeTorchvision("random_grayscale", Params().Set("field", "image").Set("probability", 1.0),
                        "grey_3");
}

TEST(RandomGrayscaleTest, TheAskedShareBecomesGrey) {
  const auto share = [](const Params& params) {
    const std::vector<bool> greyed = Greyed(params, 4000);
    return static_cast<double>(std::count(greyed.begin(), greyed.end(), true)) / 4000;
  };
  const Params params = Params().Set("field", "image");
  EXPECT_NEAR(share(params), 0.1, 0.02);
  EXPECT_NEAR(share(Params(params).Set("probability", 0.7)), 0.7, 0.03);
  EXPECT_EQ(share(Params(params).Set("probability", 0.0)), 0);
}

TEST(RandomGrayscaleTest, ARecordsDrawDependsOnSeedEpochAndRecordAlone) {
  const Params params = Params().Set("field", "image").Set("probability", 0.5);
  const RandomKey key{.seed = 1, .epoch = 2, .step = 3};
  EXPECT_EQ(Greyed(params, 60, key), Greyed(params, 60, key));
  EXPECT_NE(Greyed(params, 60, key), Greyed(params, 60, {.seed = 1, .epoch = 3, .step = 3}));
}

TEST(RandomGrayscaleTest, GreyImagesPass) {
  const TestImage grey{1, 2, 1, {7, 250}};
  const Block block =
      RunOnImage("random_grayscale", Params().Set("field", "image").Set("probability", 1.0),
                 PixelSchema(DType::kUInt8, {-1, -1, 1}), Pixels(grey));
  EXPECT_EQ(ImageOf(block.column(0)[0]).pixels, grey.pixels);
}

}  // namespace
}  // namespace headrace::op_test
