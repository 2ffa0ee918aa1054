#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pipeline/passes/run_chain.h"

namespace headrace {
namespace {

using pass_test::Ops;
using pass_test::Planned;
using ::testing::ElementsAre;

TEST(DropEarlyTest, GoesInFrontOfTheShuffle) {
  const Plan plan = Planned(PipelineBuilder()
                                .Step("decode_image", {{"field", "image"}})
                                .Step("shuffle", {{"buffer", 10}})
                                .Step("resize", {{"field", "image"}, {"size", List({8, 8})}})
                                .Step("drop", {{"fields", List({"path"})}}));
  EXPECT_THAT(Ops(plan), ElementsAre("decode_image", "drop", "shuffle", "resize"));
  EXPECT_THAT(plan.rewrites,
              ElementsAre("moved 4:drop in front of 2:shuffle: what is dropped is not held there"));
}

TEST(DropEarlyTest, StaysWhereTheFieldIsNeededOrNothingIsHeld) {
  EXPECT_THAT(Ops(Planned(PipelineBuilder()
                              .Step("shuffle", {{"buffer", 10}})
                              .Step("filter", {{"where", "path != 'a'"}})
                              .Step("drop", {{"fields", List({"path"})}}))),
              ElementsAre("shuffle", "filter", "drop"));
  EXPECT_THAT(Ops(Planned(PipelineBuilder()
                              .Step("decode_image", {{"field", "image"}})
                              .Step("drop", {{"fields", List({"path"})}}))),
              ElementsAre("decode_image", "drop"));
  EXPECT_THAT(Ops(Planned(PipelineBuilder()
                              .Step("shuffle", {{"buffer", 10}})
                              .Step("drop", {{"fields", List({"path"})}})
                              .WithoutPass("drop_early"))),
              ElementsAre("shuffle", "drop"));
}

}  // namespace
}  // namespace headrace
