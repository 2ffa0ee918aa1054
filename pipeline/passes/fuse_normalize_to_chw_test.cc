#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pipeline/graph/pipeline_builder.h"
#include "pipeline/passes/passes.h"
#include "pipeline/passes/step_params.h"

namespace headrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Plan Planned(const PipelineBuilder& builder) {
  return AllPasses().Apply(builder.Build(), OpRegistry()).value();
}

std::vector<std::string> Ops(const Plan& plan) {
  std::vector<std::string> out;
  for (const PlannedStep& planned : plan.steps) out.push_back(planned.step.op());
  return out;
}

TEST(FuseNormalizeToChwTest, ToChwBecomesALayoutOfNormalize) {
  const Plan plan = Planned(PipelineBuilder()
                                .Step("shard")
                                .Step("normalize", {{"field", "image"}, {"layout", "hwc"}})
                                .Step("to_chw", {{"field", "image"}})
                                .Step("batch"));
  EXPECT_THAT(Ops(plan), ElementsAre("shard", "normalize", "batch"));
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

}  // namespace
}  // namespace headrace
