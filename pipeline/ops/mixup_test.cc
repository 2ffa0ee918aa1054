#include "pipeline/ops/batch_mix.h"
#include "pipeline/ops/golden_batch.h"

namespace headrace::op_test {
namespace {

const Params kMixup = Params().Set("field", "image").Set("label", "label").Set("num_classes", 4);

// The labels of three rows, mixed by a fixed share.
Cell MixLabels(DType dtype, const Shape& shape, const CellMaker& labels, Arena& arena) {
  BatchLabels mixer("label", 4);
  const Schema in = BatchSchema(dtype, shape);
  Schema out = in;
  EXPECT_TRUE(mixer.Bind(in, "mixup", out).ok());
  EXPECT_EQ(out[1], (Field{"label", DType::kFloat32, {-1, 4}}));
  Cell cell = labels(arena);
  EXPECT_TRUE(mixer.Mix(cell, 0.3, arena).ok());
  return cell;
}

TEST(MixupTest, AMixOfAFixedShareIsTorchvisions) {
  Arena arena;
  const Cell in = GoldenImages()(arena);
  std::vector<float> out(in.as<float>().size());
  MixRows(in.as<float>().data(), 3, 6 * 8 * 2, 0.3, out.data());
  ExpectGolden<float>(MakeCell<float>(arena, out, in.shape), "mixup_0.3", 1e-7, 1);
  const Cell once = MixLabels(DType::kInt64, {-1}, GoldenLabels(), arena);
  ExpectGolden<float>(once, "mixup_0.3_labels", 1e-7, 1);
  const std::vector<float> shares(once.as<float>().begin(), once.as<float>().end());
  const Cell twice = MixLabels(DType::kFloat32, {-1, 4}, Nums<float>(shares, {3, 4}), arena);
  ExpectGolden<float>(twice, "mixup_twice_labels", 1e-7, 1);
}

TEST(MixupTest, ImagesAndLabelsAreMixedByTheSameShare) {
  const Block block = RunOnBatches("mixup", kMixup, 20);
  ASSERT_EQ(block.rows(), 20u);
  Arena arena;
  const Cell in = GoldenImages()(arena);
  const size_t row_items = 6 * 8 * 2;
  const std::vector<double> shares = Shares(block);
  for (size_t b = 0; b < 20; ++b) {
    const auto got = block.column(0)[b].as<float>();
    for (size_t i = 0; i < row_items; ++i) {
      const double own = in.as<float>()[i], before = in.as<float>()[2 * row_items + i];
      ASSERT_NEAR(got[i], shares[b] * own + (1 - shares[b]) * before, 1e-6);
    }
    const auto labels = block.column(1)[b].as<float>();
    EXPECT_NEAR(labels[3], 1 - shares[b], 1e-6);  // the first row's partner is the last row
  }
}

TEST(MixupTest, SharesAreSpreadAsTorchvisionsBeta) {
  for (double alpha : {0.2, 1.0, 3.0}) {
    const Block block = RunOnBatches("mixup", Params(kMixup).Set("alpha", alpha), 4000);
    // Few draws of Beta(0.2, 0.2) lie in the middle, so its middle deciles waver.
    ExpectDecilesOf(Shares(block), fmt::format("beta_{:.1f}_deciles", alpha),
                    alpha < 1 ? 0.1 : 0.035);
  }
}

TEST(MixupTest, LevelsAreRounded) {
  const std::vector<uint8_t> in{255, 0, 10, 255, 1, 20};
  std::vector<uint8_t> out(6);
  MixRows(in.data(), 2, 3, 0.5, out.data());
  EXPECT_EQ(out, (std::vector<uint8_t>{255, 1, 15, 255, 1, 15}));
}

TEST(MixupTest, ProbabilityLeavesTheOthersAsTheyAreButTheirLabelsBecomeShares) {
  const Block block = RunOnBatches("mixup", Params(kMixup).Set("probability", 0.25), 2000);
  const std::vector<double> shares = Shares(block);
  EXPECT_NEAR(static_cast<double>(std::count(shares.begin(), shares.end(), 1.0)), 1500, 90);
}

TEST(MixupTest, ABatchDrawsByItsRecordsAndTheirOrder) {
  const RandomKey key{.seed = 1, .epoch = 2, .step = 3};
  const auto draw = [](const RandomKey& k, const Provenance& batch) {
    return BatchStream(k, batch).Next64();
  };
  const headrace::Run a{.split = 1, .first = 5, .count = 2}, b{.split = 0, .first = 9, .count = 1};
  EXPECT_EQ(draw(key, {a, b}), draw(key, {a, b}));
  EXPECT_NE(draw(key, {a, b}), draw(key, {b, a}));
  EXPECT_NE(draw(key, {a, b}), draw(key, {a}));
  EXPECT_NE(draw(key, {a}), draw({.seed = 1, .epoch = 3, .step = 3}, {a}));
  EXPECT_EQ(Shares(RunOnBatches("mixup", kMixup, 9, key)),
            Shares(RunOnBatches("mixup", kMixup, 9, key)));
}

TEST(MixupTest, WrongLabelsFailTheBatch) {
  auto step = Build("mixup", kMixup, BatchSchema());
  ASSERT_TRUE(step.ok());
  Block block(step->input);
  for (const CellMaker& labels : {Nums<int64_t>({0, 4, 0}), Nums<int64_t>({0, 1})})
    block.Append(Batches(step->input, 1, GoldenImages(), labels));
  ASSERT_TRUE(RunStateless(*step, block).ok());
  EXPECT_EQ(block.rows(), 0u);
  ASSERT_EQ(block.failures().size(), 2u);
  EXPECT_EQ(block.failures()[0].records, 3u);
  EXPECT_EQ(block.failures()[0].status.message(),
            "field 'label': item 1 is 4, which is no class: num_classes is 4, so 0 to 3");
  EXPECT_EQ(block.failures()[1].status.message(), "field 'image' has 3 rows, field 'label' has 2");
}

TEST(MixupTest, WhatIsNoBatchIsRefused) {
  const auto message = [](const Params& params, const Schema& schema) {
    return MessageOf(Build("mixup", params, schema));
  };
  EXPECT_EQ(message(kMixup,
                    Schema({{"image", DType::kFloat32, {6, 8, 2}}, {"label", DType::kInt64, {}}})),
            "field 'label' is int64 []; mixup takes a batch of it, with at least 1 dimensions: put "
            "it behind batch");
  EXPECT_EQ(message(Params().Set("field", "image").Set("label", "label"), BatchSchema()),
            "field 'label' holds class numbers: say how many classes: num_classes");
  EXPECT_EQ(message(kMixup, BatchSchema(DType::kFloat32, {-1, 5})),
            "field 'label' is [?, 5], num_classes is 4");
  EXPECT_EQ(message(Params(kMixup).Set("alpha", 0.0), BatchSchema()),
            "alpha: expected 0.001 to 1000, got 0");
}

}  // namespace
}  // namespace headrace::op_test
