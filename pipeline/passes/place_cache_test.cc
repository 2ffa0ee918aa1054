// Rows kept where somebody else than the pipeline says.
#include "pipeline/graph/passes/place_cache.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pipeline/graph/passes/optimize.h"
#include "pipeline/graph/pipeline_builder.h"
#include "pipeline/passes/passes.h"

namespace headrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class PlaceCacheTest : public ::testing::Test {
 protected:
  PlaceCacheTest() {
    RegisterAll_ops(ops_);
    passes_ = AllPasses();
  }
  absl::StatusOr<Graph> At(size_t step, const v1::PipelineDef& def,
                           const std::string& tier = "auto") {
    return BuildWithCacheAt({step, tier}, def, source_, ops_, passes_, "v");
  }
  Graph AsWritten(const v1::PipelineDef& def) {
    return BuildOptimized(def, source_, ops_, passes_, "v").value();
  }
  static PipelineBuilder Grey() {
    return PipelineBuilder().Seed(5).Step("grayscale", {{"field", "image"}});
  }
  static v1::PipelineDef Flipped(PipelineBuilder builder) {
    return builder.Step("random_flip", {{"field", "image"}})
        .Step("shuffle", {{"buffer", 10}})
        .Step("batch", {{"size", 4}})
        .Build();
  }
  static std::vector<std::string> Labels(const Graph& graph) {
    std::vector<std::string> labels;
    for (const Node& node : graph.nodes()) labels.push_back(node.Label());
    return labels;
  }

  OpRegistry ops_;
  PassList passes_;
  const Schema source_ = Schema({{"image", DType::kUInt8, Shape({8, 8, 3})}});
};

TEST_F(PlaceCacheTest, DrawsFingerprintsAndNamesOfStepsAreThoseOfThePipeline) {
  const v1::PipelineDef def = Flipped(Grey());
  const Graph written = AsWritten(def);
  const Graph placed = At(1, def, "disk").value();
  EXPECT_THAT(Labels(placed),
              ElementsAre("1:grayscale", "2:cache", "2:random_flip", "3:shuffle", "4:batch"));
  ASSERT_TRUE(placed.cache());
  EXPECT_EQ(placed.cache()->node, 1u);
  EXPECT_EQ(placed.cache()->tier, "disk");
  EXPECT_EQ(placed.cache()->variants, 0u);
  EXPECT_EQ(placed.fingerprint(), written.fingerprint());
  for (size_t i = 1; i < written.nodes().size(); ++i) {
    EXPECT_EQ(placed.nodes()[i + 1].draw_index, written.nodes()[i].draw_index) << i;
    EXPECT_EQ(placed.nodes()[i + 1].seed, written.nodes()[i].seed) << i;
    EXPECT_EQ(placed.nodes()[i + 1].fingerprint, written.nodes()[i].fingerprint) << i;
  }
}

TEST_F(PlaceCacheTest, ThePipelinesOwnCacheIsPassedAndOthersFindTheRows) {
  const v1::PipelineDef own = Flipped(Grey().Step("cache"));
  const Graph written = AsWritten(own);
  const Graph moved = At(0, own).value();
  EXPECT_THAT(Labels(moved), ElementsAre("1:cache", "1:grayscale", "2:_passed_cache",
                                         "3:random_flip", "4:shuffle", "5:batch"));
  EXPECT_EQ(moved.cache()->node, 0u);
  EXPECT_EQ(moved.fingerprint(), written.fingerprint());
  EXPECT_EQ(moved.nodes()[3].draw_index, written.nodes()[2].draw_index);
  EXPECT_EQ(moved.nodes()[3].fingerprint, written.nodes()[2].fingerprint);
  // Wherever the same rows are kept, they are the same rows.
  EXPECT_EQ(At(1, own)->cache()->fingerprint, written.cache()->fingerprint);
  EXPECT_EQ(At(2, own)->cache()->fingerprint, written.cache()->fingerprint);
  EXPECT_EQ(At(1, Flipped(Grey()))->cache()->fingerprint, written.cache()->fingerprint);
}

TEST_F(PlaceCacheTest, BehindAllStepsIsAPlaceToo) {
  const v1::PipelineDef def = Grey().Build();
  EXPECT_EQ(At(1, def)->cache()->node, 1u);
  EXPECT_THAT(At(2, def).status().message(), HasSubstr("there are 1"));
}

TEST_F(PlaceCacheTest, WhereAStepCouldNotStandNothingIsPlaced) {
  EXPECT_THAT(At(2, Flipped(Grey())).status().message(), HasSubstr("draws random numbers"));
  EXPECT_THAT(At(3, Flipped(Grey())).status().message(), HasSubstr("random_flip"));
}

TEST_F(PlaceCacheTest, ACacheWithVariantsStaysWhereItIs) {
  const v1::PipelineDef def =
      Grey().Step("random_flip", {{"field", "image"}}).Step("cache", {{"variants", 2}}).Build();
  EXPECT_THAT(At(1, def).status().message(), HasSubstr("variants"));
}

TEST_F(PlaceCacheTest, PipelinesCannotNameTheStepsThatAreMadeOfIt) {
  for (const char* name : {"_placed_cache", "_passed_cache"}) {
    const auto graph = BuildOptimized(Grey().Step(name).Build(), source_, ops_, passes_);
    EXPECT_THAT(graph.status().message(), HasSubstr("pipelines do not name it"));
  }
}

}  // namespace
}  // namespace headrace
