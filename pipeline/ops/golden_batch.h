// For the tests of mixup and cutmix only: batches of small images, and what torchvision makes of
// them.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "pipeline/ops/golden_image.h"

namespace headrace::op_test {

inline Schema BatchSchema(DType label = DType::kInt64, Shape labels = {-1}) {
  return Schema({{"image", DType::kFloat32, {-1, 6, 8, 2}}, {"label", label, labels}});
}

// The three images that torchvision was given, with the labels it was given.
inline CellMaker GoldenImages() {
  const auto in = ReadGolden("mix_in");
  EXPECT_TRUE(in.ok()) << in.status();
  return Nums<float>(in.ok() ? in->as<float>() : std::vector<float>(3 * 6 * 8 * 2), {3, 6, 8, 2});
}
inline CellMaker GoldenLabels() { return Nums<int64_t>({1, 0, 3}); }

// `batches` batches of three records each.
inline Block Batches(const SchemaPtr& schema, size_t batches,
                     const CellMaker& images = GoldenImages(),
                     const CellMaker& labels = GoldenLabels()) {
  Block block(schema);
  for (size_t i = 0; i < batches; ++i) {
    const std::vector<Cell> cells{images(block.arena()), labels(block.arena())};
    block.AppendRow({headrace::Run{.split = 0, .first = 3 * i, .count = 3}}, cells);
  }
  return block;
}

// `batches` equal batches through a step; a row out per batch.
inline Block RunOnBatches(std::string_view step_name, const Params& params, size_t batches,
                          const RandomKey& key = {}) {
  auto step = Build(step_name, params, BatchSchema());
  EXPECT_TRUE(step.ok()) << step.status();
  if (!step.ok()) return Block(std::make_shared<const Schema>());
  Block block = Batches(step->input, batches);
  StepContext context;
  context.random = key;
  EXPECT_TRUE(RunStateless(*step, block, context).ok());
  return block;
}

// How much of its own label the first row of each batch kept.
inline std::vector<double> Shares(const Block& block) {
  std::vector<double> out;
  for (const Cell& labels : block.column(1)) out.push_back(labels.as<float>()[1]);
  return out;
}

inline void ExpectDecilesOf(std::vector<double> sample, const std::string& golden, double most) {
  const auto found = ReadGolden(golden);
  ASSERT_TRUE(found.ok()) << found.status();
  const std::vector<double> theirs = found->as<double>();
  ASSERT_EQ(theirs.size(), 9u);
  std::sort(sample.begin(), sample.end());
  for (size_t k = 0; k < 9; ++k) {
    EXPECT_NEAR(sample[(k + 1) * sample.size() / 10], theirs[k], most)
        << golden << " decile " << k + 1;
  }
}

}  // namespace headrace::op_test
