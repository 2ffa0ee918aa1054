#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pipeline/ops/image_rows.h"
#include "pipeline/passes/run_chain.h"

namespace headrace {
namespace {

using op_test::Num;
using op_test::Rows;
using op_test::Text;
using pass_test::Ops;
using pass_test::Planned;
using pass_test::RunChain;
using ::testing::ElementsAre;

const Schema kLabelled({{"image", DType::kBytes, Shape()}, {"label", DType::kInt64, Shape()}});

PipelineBuilder Decoded() { return PipelineBuilder().Step("decode_image", {{"field", "image"}}); }

TEST(FilterEarlyTest, GoesInFrontOfAllThatLeavesItsFieldsAlone) {
  const Plan plan = Planned(Decoded()
                                .Step("random_flip", {{"field", "image"}})
                                .Step("filter", {{"where", "label != 3 && length(text) > 2"}}));
  EXPECT_THAT(Ops(plan), ElementsAre("filter", "decode_image", "random_flip"));
  EXPECT_THAT(plan.rewrites,
              ElementsAre("moved 3:filter in front of 1:decode_image: what it takes out costs no "
                          "more"));
  EXPECT_EQ(plan.steps[0].written_index, 2u);
}

TEST(FilterEarlyTest, StopsWhereItsFieldsAreMadeOrRowsChangePlaces) {
  EXPECT_THAT(Ops(Planned(Decoded().Step("filter", {{"where", "shape(image, 0) > 9"}}))),
              ElementsAre("decode_image", "filter"));
  EXPECT_THAT(Ops(Planned(Decoded()
                              .Step("shuffle", {{"buffer", 10}})
                              .Step("to_chw", {{"field", "image"}})
                              .Step("filter", {{"where", "label > 1"}}))),
              ElementsAre("decode_image", "shuffle", "filter", "to_chw"));
  EXPECT_THAT(
      Ops(Planned(
          Decoded().Step("cache", {{"tier", "memory"}}).Step("filter", {{"where", "label > 1"}}))),
      ElementsAre("decode_image", "cache", "filter"));
  EXPECT_THAT(
      Ops(Planned(Decoded().Step("filter", {{"where", "label > 1"}}).WithoutPass("filter_early"))),
      ElementsAre("decode_image", "filter"));
}

TEST(FilterEarlyTest, FiltersKeepTheirOrder) {
  const Plan plan = Planned(Decoded()
                                .Step("filter", {{"where", "label > 1"}})
                                .Step("random_flip", {{"field", "image"}})
                                .Step("filter", {{"where", "label < 9"}}));
  EXPECT_THAT(Ops(plan), ElementsAre("filter", "filter", "decode_image", "random_flip"));
  EXPECT_EQ(plan.steps[0].written_index, 1u);
  EXPECT_EQ(plan.steps[1].written_index, 3u);
}

TEST(FilterEarlyTest, TheSameRowsLeaveWithTheSamePixels) {
  const auto both = pass_test::BuildBoth(PipelineBuilder()
                                             .Seed(3)
                                             .Step("decode_image", {{"field", "image"}})
                                             .Step("random_flip", {{"field", "image"}})
                                             .Step("filter", {{"where", "label % 3 == 1"}})
                                             .Build(),
                                         kLabelled, 1, 1);
  const std::string file = EncodeJpeg(MakePicture(20, 30).view());
  std::vector<std::vector<op_test::CellMaker>> rows;
  for (int64_t i = 0; i < 30; ++i) rows.push_back({Text(file), Num<int64_t>(i)});
  const auto schema = std::make_shared<const Schema>(kLabelled);
  const Block a = RunChain(both.written, Rows(schema, rows));
  const Block b = RunChain(both.optimized, Rows(schema, rows));
  ASSERT_EQ(a.rows(), 10u);
  ASSERT_EQ(b.rows(), 10u);
  for (size_t row = 0; row < a.rows(); ++row) {
    EXPECT_EQ(a.column(1)[row].as<int64_t>()[0], b.column(1)[row].as<int64_t>()[0]);
    EXPECT_EQ(MaxAbsoluteDifference(op_test::ImageOf(a.column(0)[row]).view(),
                                    op_test::ImageOf(b.column(0)[row]).view()),
              0);
  }
}

}  // namespace
}  // namespace headrace
