#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pipeline/ops/image_rows.h"
#include "pipeline/passes/run_chain.h"

namespace headrace {
namespace {

using pass_test::Ops;
using pass_test::Planned;
using pass_test::RunChain;
using ::testing::ElementsAre;

constexpr char kSecond[] = "other";

PipelineBuilder Normalized() {
  return PipelineBuilder().Seed(4).Step("normalize", {{"field", "image"}, {"mean", 0.5}});
}

TEST(NormalizeLateTest, GoesBehindCropsAndFlipsOfItsField) {
  const Plan plan = Planned(Normalized()
                                .Step("random_crop", {{"field", "image"}, {"size", List({8, 8})}})
                                .Step("cast", {{"field", kSecond}, {"dtype", "float32"}})
                                .Step("random_flip", {{"field", "image"}})
                                .Step("cast", {{"field", kSecond}, {"dtype", "int64"}}));
  EXPECT_THAT(Ops(plan), ElementsAre("random_crop", "cast", "random_flip", "normalize", "cast"));
  EXPECT_THAT(plan.rewrites, ElementsAre("moved 1:normalize behind 4:random_flip: fewer and "
                                         "smaller values are moved"));
}

TEST(NormalizeLateTest, StaysInFrontOfWhatIsAnotherStepBehindIt) {
  // Zeros of the padding, sums of the resampling: not the same when values change afterwards.
  EXPECT_THAT(Ops(Planned(Normalized().Step(
                  "random_crop", {{"field", "image"}, {"size", List({8, 8})}, {"pad", 2}}))),
              ElementsAre("normalize", "random_crop"));
  EXPECT_THAT(
      Ops(Planned(Normalized().Step("resize", {{"field", "image"}, {"size", List({8, 8})}}))),
      ElementsAre("normalize", "resize"));
  EXPECT_THAT(Ops(Planned(Normalized()
                              .Step("shuffle", {{"buffer", 5}})
                              .Step("center_crop", {{"field", "image"}, {"size", List({8, 8})}}))),
              ElementsAre("normalize", "shuffle", "center_crop"));
  EXPECT_THAT(
      Ops(Planned(
          Normalized().Step("random_flip", {{"field", "image"}}).WithoutPass("normalize_late"))),
      ElementsAre("normalize", "random_flip"));
}

TEST(NormalizeLateTest, TheFloatsAreTheSame) {
  const Schema source({{"image", DType::kUInt8, {40, 50, 3}}});
  const auto both =
      pass_test::BuildBoth(Normalized()
                               .Step("random_crop", {{"field", "image"}, {"size", List({16, 16})}})
                               .Step("random_flip", {{"field", "image"}, {"vertical", true}})
                               .Build(),
                           source, 1, 1);
  const TestImage picture = MakePicture(40, 50);
  const auto rows = [&] {
    return op_test::Repeated(std::make_shared<const Schema>(source),
                             op_test::Nums<uint8_t>(picture.pixels, {40, 50, 3}), 12);
  };
  for (uint64_t epoch : {0, 1}) {
    const Block a = RunChain(both.written, rows(), epoch);
    const Block b = RunChain(both.optimized, rows(), epoch);
    ASSERT_EQ(a.rows(), 12u);
    EXPECT_EQ(op_test::Column<float>(a, 0), op_test::Column<float>(b, 0));
  }
}

}  // namespace
}  // namespace headrace
