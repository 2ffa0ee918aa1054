#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pipeline/graph/pipeline_builder.h"
#include "pipeline/ops/image_rows.h"
#include "pipeline/passes/passes.h"
#include "pipeline/passes/run_chain.h"
#include "pipeline/passes/step_params.h"

namespace headrace {
namespace {

using pass_test::Ops;
using pass_test::Planned;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(FuseNormalizeToChwTest, ToChwBecomesALayoutOfNormalize) {
  const Plan plan = Planned(PipelineBuilder()
                                .Step("shard")
                                .Step("normalize", {{"field", "image"}, {"layout", "hwc"}})
                                .Step("to_chw", {{"field", "image"}})
                                .Step("padded_batch", {{"size", 8}}));
  EXPECT_THAT(Ops(plan), ElementsAre("shard", "normalize", "padded_batch"));
  EXPECT_EQ(TextParam(plan.steps[1].step, "layout"), "chw");
  EXPECT_EQ(plan.steps[1].written_index, 1u);
  EXPECT_EQ(plan.steps[2].written_index, 3u);
  EXPECT_THAT(
      plan.rewrites,
      ElementsAre("fused to_chw into normalize: the floats are written once, channels first"));
}

TEST(FuseNormalizeToChwTest, OtherPairsStayAsTheyAre) {
  const Plan other_field = Planned(PipelineBuilder()
                                       .Step("normalize", {{"field", "image"}})
                                       .Step("to_chw", {{"field", "depth"}}));
  EXPECT_THAT(other_field.rewrites, IsEmpty());
  const Plan apart = Planned(PipelineBuilder()
                                 .Step("normalize", {{"field", "a"}})
                                 .Step("shard")
                                 .Step("to_chw", {{"field", "a"}}));
  EXPECT_THAT(Ops(apart), ElementsAre("normalize", "shard", "to_chw"));
  const Plan chw = Planned(PipelineBuilder()
                               .Step("normalize", {{"field", "a"}, {"layout", "chw"}})
                               .Step("to_chw", {{"field", "a"}}));
  EXPECT_THAT(chw.rewrites, IsEmpty());
}

TEST(FuseNormalizeToChwTest, TheFloatsAreTheSameToTheBit) {
  const v1::PipelineDef def = PipelineBuilder()
                                  .Step("normalize", {{"field", "image"},
                                                      {"mean", List({0.485, 0.456, 0.406})},
                                                      {"std", List({0.229, 0.224, 0.225})}})
                                  .Step("to_chw", {{"field", "image"}})
                                  .Build();
  const Schema source = op_test::PixelSchema();
  const pass_test::BothWays both = pass_test::BuildBoth(def, source, 1);
  const auto schema = std::make_shared<const Schema>(source);
  const op_test::CellMaker image = op_test::Pixels(MakePicture(13, 7));
  const Block a = pass_test::RunChain(both.written, op_test::Repeated(schema, image, 3));
  const Block b = pass_test::RunChain(both.optimized, op_test::Repeated(schema, image, 3));
  ASSERT_EQ(b.rows(), 3u);
  EXPECT_EQ(b.column(0)[2].shape.ToString(), "[3, 13, 7]");
  EXPECT_EQ(op_test::Column<float>(a, 0), op_test::Column<float>(b, 0));
}

}  // namespace
}  // namespace headrace
