#include "pipeline/ops/batch_mix.h"
#include "pipeline/ops/golden_batch.h"

namespace headrace::op_test {
namespace {

const Params kCutmix = Params().Set("field", "image").Set("label", "label").Set("num_classes", 4);
constexpr size_t kRowItems = 6 * 8 * 2;

TEST(CutmixTest, AFixedRectangleIsTorchvisions) {
  Arena arena;
  Cell images = GoldenImages()(arena);
  PasteFromRowBefore(images, sizeof(float), false, {2, 1, 5, 4}, arena);
  ExpectGolden<float>(images, "cutmix", 0, 0);
  BatchLabels mixer("label", 4);
  Schema out = BatchSchema();
  ASSERT_TRUE(mixer.Bind(BatchSchema(), "cutmix", out).ok());
  Cell labels = GoldenLabels()(arena);
  ASSERT_TRUE(mixer.Mix(labels, 1 - 20.0 / 48, arena).ok());
  ExpectGolden<float>(labels, "cutmix_labels", 1e-7, 1);
}

TEST(CutmixTest, ARectangleOfTheLabelsAreaComesFromTheRowBefore) {
  const Block block = RunOnBatches("cutmix", kCutmix, 200);
  ASSERT_EQ(block.rows(), 200u);
  Arena arena;
  const Cell in = GoldenImages()(arena);
  for (size_t b = 0; b < 200; ++b) {
    const auto got = block.column(0)[b].as<float>();
    int pasted = 0, left = 8, top = 6, right = 0, bottom = 0;
    for (int p = 0; p < 48; ++p) {
      const auto at = static_cast<size_t>(2 * p);
      if (got[at] == in.as<float>()[at]) continue;
      ASSERT_EQ(got[at], in.as<float>()[2 * kRowItems + at]);
      ++pasted;
      left = std::min(left, p % 8), right = std::max(right, p % 8 + 1);
      top = std::min(top, p / 8), bottom = std::max(bottom, p / 8 + 1);
    }
    EXPECT_EQ(pasted, pasted > 0 ? (right - left) * (bottom - top) : 0);
    EXPECT_NEAR(Shares(block)[b], 1 - pasted / 48.0, 1e-6);
  }
}

TEST(CutmixTest, ChannelsFirstIsTheSameRectangle) {
  Arena arena;
  const Cell in = GoldenImages()(arena);
  std::vector<float> planes(in.as<float>().size());
  for (size_t i = 0; i < 3; ++i) {
    for (size_t p = 0; p < 48; ++p) {
      for (size_t c = 0; c < 2; ++c)
        planes[i * kRowItems + c * 48 + p] = in.as<float>()[i * kRowItems + p * 2 + c];
    }
  }
  Cell last = in, first = MakeCell<float>(arena, planes, {3, 2, 6, 8});
  PasteFromRowBefore(last, sizeof(float), false, {3, 0, 4, 5}, arena);
  PasteFromRowBefore(first, sizeof(float), true, {3, 0, 4, 5}, arena);
  for (size_t p = 0; p < 48; ++p) EXPECT_EQ(first.as<float>()[48 + p], last.as<float>()[2 * p + 1]);
}

TEST(CutmixTest, ABatchOfOneRowKeepsItsPixels) {
  auto step = Build("cutmix", kCutmix, BatchSchema());
  ASSERT_TRUE(step.ok());
  const std::vector<float> one(kRowItems, 0.5f);
  Block block = Batches(step->input, 1, Nums<float>(one, {1, 6, 8, 2}), Nums<int64_t>({2}));
  ASSERT_TRUE(RunStateless(*step, block).ok());
  EXPECT_EQ(Column<float>(block, 0), one);
  EXPECT_NEAR(block.column(1)[0].as<float>()[2], 1, 1e-6);
}

TEST(CutmixTest, DrawsAreKeyedByTheBatch) {
  const RandomKey key{.seed = 1, .epoch = 2, .step = 3};
  EXPECT_EQ(Shares(RunOnBatches("cutmix", kCutmix, 9, key)),
            Shares(RunOnBatches("cutmix", kCutmix, 9, key)));
  EXPECT_NE(Shares(RunOnBatches("cutmix", kCutmix, 9, key)),
            Shares(RunOnBatches("cutmix", kCutmix, 9, {.seed = 1, .epoch = 3, .step = 3})));
}

TEST(CutmixTest, WhatIsNoBatchOfImagesIsRefused) {
  const Schema rows({{"image", DType::kFloat32, {6, 8, 2}}, {"label", DType::kInt64, {-1}}});
  EXPECT_EQ(MessageOf(Build("cutmix", kCutmix, rows)),
            "field 'image' is float32 [6, 8, 2]; cutmix takes a batch of it, with at least 4 "
            "dimensions: put it behind batch");
  EXPECT_EQ(MessageOf(Build("cutmix", Params(kCutmix).Set("layout", "x"), BatchSchema())),
            "layout: expected 'hwc' or 'chw', got 'x'");
}

}  // namespace
}  // namespace headrace::op_test
