#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pipeline/graph/pipeline_builder.h"
#include "pipeline/ops/image_rows.h"
#include "pipeline/passes/passes.h"
#include "pipeline/passes/run_chain.h"

namespace headrace {
namespace {

using op_test::kFileSchema;
using pass_test::BothWays;
using pass_test::BuildBoth;
using pass_test::RunChain;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

PipelineBuilder Decoded() {
  return PipelineBuilder().Seed(5).Step("shard").Step("decode_image", {{"field", "image"}});
}

// Records first, first+1, ... hold this picture as a JPEG file.
Block Files(size_t rows) {
  const TestImage picture = MakePicture(300, 400);
  return op_test::Repeated(std::make_shared<const Schema>(kFileSchema),
                           op_test::Text(EncodeJpeg(picture.view())), rows);
}

TEST(FuseDecodeTest, TheFusedStepStandsWhereTheCropStood) {
  const BothWays both =
      BuildBoth(Decoded()
                    .Step("random_resized_crop", {{"field", "image"}, {"size", 32}})
                    .Step("batch", {{"size", 2}})
                    .Build(),
                kFileSchema, 1);
  EXPECT_THAT(
      both.optimized.rewrites(),
      ElementsAre(
          "fused decode_image with random_resized_crop: only the needed region is decoded"));
  EXPECT_EQ(both.optimized.nodes()[1].Label(), "3:decode_image+random_resized_crop");
  EXPECT_THAT(both.optimized.nodes()[1].Where(),
              testing::EndsWith("step 3 'decode_image+random_resized_crop'"));
  EXPECT_TRUE(both.optimized.nodes()[1].traits.random);
  EXPECT_EQ(both.optimized.nodes()[2].Label(), "4:batch");
  EXPECT_EQ(both.optimized.fingerprint(), both.written.fingerprint());
}

TEST(FuseDecodeTest, EveryRecordGetsTheSameDrawAsWithoutIt) {
  const BothWays both = BuildBoth(
      Decoded().Step("random_crop", {{"field", "image"}, {"size", List({40, 60})}}).Build(),
      kFileSchema, 1);
  for (uint64_t epoch : {0, 1}) {
    const Block a = RunChain(both.written, Files(20), epoch);
    const Block b = RunChain(both.optimized, Files(20), epoch);
    ASSERT_EQ(b.rows(), 20u);
    for (size_t row = 0; row < b.rows(); ++row) {
      const TestImage apart = op_test::ImageOf(a.column(0)[row]);
      const TestImage fused = op_test::ImageOf(b.column(0)[row]);
      EXPECT_EQ(MaxAbsoluteDifference(apart.view(), fused.view()), 0) << "row " << row;
    }
  }
}

TEST(FuseDecodeTest, AScaledDecodeIsAsGoodAsTheWhole) {
  for (const char* crop : {"resize", "random_resized_crop"}) {
    const BothWays both =
        BuildBoth(Decoded().Step(crop, {{"field", "image"}, {"size", List({40, 40})}}).Build(),
                  kFileSchema, 1);
    const Block a = RunChain(both.written, Files(10));
    const Block b = RunChain(both.optimized, Files(10));
    ASSERT_EQ(b.rows(), 10u);
    for (size_t row = 0; row < b.rows(); ++row) {
      const TestImage apart = op_test::ImageOf(a.column(0)[row]);
      const TestImage fused = op_test::ImageOf(b.column(0)[row]);
      EXPECT_LT(MeanAbsoluteDifference(apart.view(), fused.view()), 2.0) << crop << " row " << row;
    }
  }
}

TEST(FuseDecodeTest, EveryPairOfAPipelineIsFused) {
  const Schema two({{"left", DType::kBytes, Shape()}, {"right", DType::kBytes, Shape()}});
  const BothWays both =
      BuildBoth(PipelineBuilder()
                    .Step("decode_image", {{"field", "left"}})
                    .Step("resize", {{"field", "left"}, {"size", List({8, 8})}})
                    .Step("decode_image", {{"field", "right"}})
                    .Step("center_crop", {{"field", "right"}, {"size", List({8, 8})}})
                    .Build(),
                two, 2);
  EXPECT_EQ(both.optimized.nodes()[0].Label(), "2:decode_image+resize");
  EXPECT_EQ(both.optimized.nodes()[1].Label(), "4:decode_image+center_crop");
  EXPECT_EQ(both.optimized.rewrites()[0],
            "fused decode_image with resize: images are decoded no larger than needed");
}

TEST(FuseDecodeTest, OtherPairsStayAsTheyAre) {
  const Schema two({{"image", DType::kBytes, Shape()}, {"pixels", DType::kUInt8, {-1, -1, 3}}});
  const auto rewrites = [&](PipelineBuilder builder) {
    OpRegistry ops;
    RegisterAll_ops(ops);
    return BuildOptimized(builder.Build(), two, ops).value().rewrites();
  };
  EXPECT_THAT(rewrites(Decoded().Step("resize", {{"field", "pixels"}, {"size", List({8, 8})}})),
              IsEmpty());
  EXPECT_THAT(rewrites(Decoded()
                           .Step("random_flip", {{"field", "image"}})
                           .Step("resize", {{"field", "image"}, {"size", List({8, 8})}})),
              IsEmpty());
  EXPECT_THAT(rewrites(Decoded().Step("random_crop",
                                      {{"field", "image"}, {"size", List({8, 8})}, {"pad", 4}})),
              IsEmpty());
  EXPECT_THAT(rewrites(Decoded()
                           .Step("resize", {{"field", "image"}, {"size", List({8, 8})}})
                           .WithoutPass("fuse_decode")),
              IsEmpty());
}

}  // namespace
}  // namespace headrace
