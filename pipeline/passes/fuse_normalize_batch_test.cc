#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pipeline/graph/pipeline_builder.h"
#include "pipeline/passes/passes.h"
#include "pipeline/passes/run_chain.h"
#include "pipeline/passes/step_params.h"

namespace headrace {
namespace {

using pass_test::Ops;
using pass_test::Planned;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(FuseNormalizeBatchTest, NormalizeGoesIntoTheBatchThroughShuffles) {
  const Plan plan = Planned(PipelineBuilder()
                                .Step("normalize", {{"field", "image"}, {"std", 0.5}})
                                .Step("to_chw", {{"field", "image"}})
                                .Step("shuffle", {{"buffer", 100}})
                                .Step("batch", {{"size", 8}}));
  EXPECT_THAT(Ops(plan), ElementsAre("shuffle", "_normalize_and_batch"));
  EXPECT_EQ(plan.steps[0].written_index, 2u);
  EXPECT_EQ(plan.steps[1].written_index, 3u);
  EXPECT_EQ(TextParam(plan.steps[1].step, "layout"), "chw");
  EXPECT_EQ(TextParam(plan.steps[1].step, "field"), "image");
  EXPECT_EQ(plan.rewrites.size(), 2u);
}

TEST(FuseNormalizeBatchTest, OtherStepsBetweenOrAfterLeaveItAlone) {
  EXPECT_THAT(Planned(PipelineBuilder()
                          .Step("normalize", {{"field", "image"}})
                          .Step("filter", {{"where", "shape(image, 0) > 3"}})
                          .Step("batch", {{"size", 8}}))
                  .rewrites,
              IsEmpty());
  EXPECT_THAT(Planned(PipelineBuilder()
                          .Step("normalize", {{"field", "image"}})
                          .Step("padded_batch", {{"size", 8}}))
                  .rewrites,
              IsEmpty());
  EXPECT_THAT(Planned(PipelineBuilder()
                          .Step("normalize", {{"field", "image"}})
                          .Step("shuffle", {{"buffer", 8}}))
                  .rewrites,
              IsEmpty());
}

TEST(FuseNormalizeBatchTest, TheSchemaStays) {
  OpRegistry ops;
  RegisterAll_ops(ops);
  const v1::PipelineDef def = PipelineBuilder()
                                  .Step("normalize", {{"field", "image"}})
                                  .Step("batch", {{"size", 8}})
                                  .Build();
  const absl::StatusOr<Graph> graph =
      BuildOptimized(def, Schema({{"image", DType::kUInt8, {4, 4, 3}}}), ops);
  ASSERT_TRUE(graph.ok()) << graph.status();
  ASSERT_EQ(graph->nodes().size(), 1u);
  EXPECT_EQ(graph->nodes()[0].output->ToString(), "{image: float32 [?, 4, 4, 3]}");
}

}  // namespace
}  // namespace headrace
