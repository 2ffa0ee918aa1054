#include <algorithm>
#include <set>

#include "pipeline/ops/golden_batch.h"

namespace headrace::op_test {
namespace {

constexpr int64_t kHeight = 48, kWidth = 64;
const Params kErase = Params().Set("field", "image").Set("probability", 1.0);

struct Erased {
  int64_t left = kWidth, top = kHeight, right = 0, bottom = 0;
  int64_t pixels = 0;
  double area() const { return static_cast<double>((right - left) * (bottom - top)); }
  double aspect() const {
    return static_cast<double>(bottom - top) / static_cast<double>(right - left);
  }
};

// Where a white image of one channel was blackened, per record.
std::vector<Erased> Rectangles(const Params& params, size_t rows, const RandomKey& key = {}) {
  const TestImage white{kHeight, kWidth, 1, std::vector<uint8_t>(kHeight * kWidth, 255)};
  const Block block = RunOnImage("random_erasing", params, PixelSchema(DType::kUInt8, {-1, -1, 1}),
                                 Pixels(white), rows, key);
  std::vector<Erased> out;
  for (const Cell& cell : block.column(0)) {
    Erased& erased = out.emplace_back();
    for (int64_t i = 0; i < kHeight * kWidth; ++i) {
      if (cell.as<uint8_t>()[static_cast<size_t>(i)] != 0) continue;
      ++erased.pixels;
      erased.left = std::min(erased.left, i % kWidth);
      erased.right = std::max(erased.right, i % kWidth + 1);
      erased.top = std::min(erased.top, i / kWidth);
      erased.bottom = std::max(erased.bottom, i / kWidth + 1);
    }
  }
  return out;
}

TEST(RandomErasingTest, ARectangleIsErasedAndNothingElse) {
  std::set<std::pair<int64_t, int64_t>> places;
  for (const Erased& erased : Rectangles(kErase, 300)) {
    ASSERT_GT(erased.pixels, 0);
    ASSERT_EQ(static_cast<double>(erased.pixels), erased.area());
    places.insert({erased.left, erased.top});
  }
  EXPECT_GT(places.size(), 200u);
}

TEST(RandomErasingTest, AreasShapesAndPlacesAreSpreadAsTorchvisionSpreadsThem) {
  std::vector<double> area, shape, left, top;
  for (const Erased& erased : Rectangles(kErase, 4000)) {
    area.push_back(erased.area() / (kHeight * kWidth));
    shape.push_back(std::log(erased.aspect()));
    left.push_back(static_cast<double>(erased.left));
    top.push_back(static_cast<double>(erased.top));
  }
  ExpectDecilesOf(area, "erasing_area_deciles", 0.015);
  ExpectDecilesOf(shape, "erasing_log_aspect_deciles", 0.12);
  ExpectDecilesOf(left, "erasing_left_deciles", 2);
  ExpectDecilesOf(top, "erasing_top_deciles", 2);
}

TEST(RandomErasingTest, ProbabilityLeavesTheOthersAsTheyAre) {
  const std::vector<Erased> all = Rectangles(Params().Set("field", "image"), 2000);
  const auto changed =
      std::count_if(all.begin(), all.end(), [](const Erased& e) { return e.pixels > 0; });
  EXPECT_NEAR(static_cast<double>(changed), 1000, 90);
}

TEST(RandomErasingTest, ARecordsDrawDependsOnSeedEpochAndRecordAlone) {
  const auto lefts = [](const RandomKey& key) {
    std::vector<int64_t> out;
    for (const Erased& erased : Rectangles(kErase, 30, key)) out.push_back(erased.left);
    return out;
  };
  const RandomKey key{.seed = 1, .epoch = 2, .step = 3};
  EXPECT_EQ(lefts(key), lefts(key));
  EXPECT_NE(lefts(key), lefts({.seed = 1, .epoch = 3, .step = 3}));
}

TEST(RandomErasingTest, ChannelsFirstTakeAValueEach) {
  const Params params =
      Params(kErase).Set("layout", "chw").Set("value", std::vector<double>{-1, -2});
  const Schema schema({{"image", DType::kFloat32, {2, 20, 30}}});
  auto step = Build("random_erasing", params, schema);
  ASSERT_TRUE(step.ok()) << step.status();
  Block block =
      Repeated(step->input, Nums<float>(std::vector<float>(2 * 20 * 30, 5), {2, 20, 30}), 1);
  ASSERT_TRUE(RunStateless(*step, block).ok());
  const auto got = block.column(0)[0].as<float>();
  size_t erased = 0;
  for (size_t i = 0; i < 600; ++i) {
    const bool in = got[i] == -1.0f;
    erased += in ? 1 : 0;
    ASSERT_EQ(got[i], in ? -1.0f : 5.0f);
    ASSERT_EQ(got[600 + i], in ? -2.0f : 5.0f);
  }
  EXPECT_GE(erased, 6u);
}

TEST(RandomErasingTest, NoiseIsStandardNormal) {
  const Params params = Params(kErase).Set("noise", true);
  const Block block =
      RunOnImage("random_erasing", params, PixelSchema(DType::kFloat32, {-1, -1, 3}),
                 Nums<float>(std::vector<float>(60 * 60 * 3, 100), {60, 60, 3}), 40);
  double sum = 0, squares = 0, n = 0;
  for (const Cell& cell : block.column(0)) {
    for (float v : cell.as<float>()) {
      if (v == 100.0f) continue;
      sum += v;
      squares += v * v;
      n += 1;
    }
  }
  ASSERT_GT(n, 5000);
  EXPECT_NEAR(sum / n, 0, 0.05);
  EXPECT_NEAR(squares / n, 1, 0.05);
}

TEST(RandomErasingTest, WhatCannotBeIsRefusedWithWords) {
  const auto message = [](const Params& params, const Schema& schema = PixelSchema()) {
    return MessageOf(Build("random_erasing", params, schema));
  };
  EXPECT_EQ(message(Params(kErase).Set("value", std::vector<double>{1, 2})),
            "value has 2 numbers, the image is [?, ?, 3] (hwc)");
  EXPECT_EQ(message(Params(kErase).Set("layout", "chw"), Schema({{"image", DType::kInt64, {}}})),
            "field 'image' is int64 []; random_erasing takes uint8 or float32 [channels, height, "
            "width] with layout: chw");
  EXPECT_EQ(message(Params(kErase).Set("value", 256.0)),
            "value: 256 is no level of uint8 (0 to 255)");
  EXPECT_EQ(message(Params(kErase).Set("layout", "nchw")),
            "layout: expected 'hwc' or 'chw', got 'nchw'");
  EXPECT_THAT(message(Params(kErase).Set("scale", std::vector<double>{0.5, 0.1})),
              testing::StartsWith("scale: expected"));
}

}  // namespace
}  // namespace headrace::op_test
