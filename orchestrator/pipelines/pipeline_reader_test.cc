#include "orchestrator/pipelines/pipeline_reader.h"

#include "element/schema_proto.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pipeline/graph/pipeline_builder.h"

namespace headrace::orchestrate {
namespace {

using ::testing::HasSubstr;

class PipelineReaderTest : public ::testing::Test {
 protected:
  PipelineFacts Facts(const PipelineBuilder& builder, const std::string& version = "v") {
    auto facts = FactsOf(builder.Build(), SchemaToDef(source_), version, catalog_);
    EXPECT_TRUE(facts.ok()) << facts.status();
    return facts.value_or(PipelineFacts());
  }
  static PipelineBuilder Images() {
    return PipelineBuilder()
        .Step("decode_image", {{"field", "image"}})
        .Step("resize", {{"field", "image"}, {"size", List({64, 64})}});
  }

  const Catalog catalog_;
  const Schema source_ = Schema({{"image", DType::kBytes, Shape()}});
};

TEST_F(PipelineReaderTest, CutsAreThoseThatWorkersWouldTake) {
  const PipelineFacts facts = Facts(Images()
                                        .Step("random_flip", {{"field", "image"}})
                                        .Step("shuffle", {{"buffer", 10}})
                                        .Step("batch", {{"size", 4}}));
  EXPECT_EQ(facts.source_cut, 0u);
  ASSERT_EQ(facts.steps.size(), 4u) << "decoding and resizing run as one";
  EXPECT_EQ(facts.steps[0].step, "2:decode_image+resize");
  EXPECT_EQ(facts.steps[0].cut, 2u);
  EXPECT_FALSE(facts.steps[1].cut.has_value());
  EXPECT_TRUE(facts.steps[1].random);
  EXPECT_THAT(facts.steps[1].no_cut, HasSubstr("draws random numbers"));
  EXPECT_THAT(facts.steps[2].no_cut, HasSubstr("random_flip"));
  EXPECT_FALSE(facts.steps[3].one_to_one);
  EXPECT_NE(facts.source_key, facts.steps[0].key);
}

TEST_F(PipelineReaderTest, JobsThatShareAPrefixShareItsKeyAndNoOther) {
  const PipelineFacts a = Facts(Images().Step("batch", {{"size", 4}}));
  const PipelineFacts b = Facts(Images().Step("grayscale", {{"field", "image"}}));
  EXPECT_EQ(a.source_key, b.source_key);
  EXPECT_EQ(a.steps[0].key, b.steps[0].key);
  EXPECT_NE(b.steps[1].key, b.steps[0].key);
  EXPECT_NE(Facts(Images(), "other files").steps[0].key, a.steps[0].key);
}

TEST_F(PipelineReaderTest, ThePipelinesOwnCacheIsNoStepAndSaysWhereItIs) {
  const PipelineFacts own =
      Facts(Images().Step("cache", {{"tier", "disk"}}).Step("grayscale", {{"field", "image"}}));
  ASSERT_EQ(own.steps.size(), 2u);
  EXPECT_EQ(own.own_cache, 2u);
  EXPECT_EQ(own.own_tier, "disk");
  EXPECT_FALSE(own.own_is_fixed);
  EXPECT_EQ(own.steps[0].cut, 2u);
  EXPECT_EQ(own.steps[1].step, "4:grayscale");
  EXPECT_EQ(own.steps[0].key, Facts(Images()).steps[0].key);
  const PipelineFacts fixed =
      Facts(Images().Step("random_flip", {{"field", "image"}}).Step("cache", {{"variants", 2}}));
  EXPECT_TRUE(fixed.own_is_fixed);
  for (const StepFacts& step : fixed.steps) EXPECT_THAT(step.no_cut, HasSubstr("variants"));
}

TEST_F(PipelineReaderTest, WhatThisBuildDoesNotKnowIsNoPipelineAndSaysWhy) {
  v1::ObserveFleetReply fleet;
  for (const char* op : {"grayscale", "of_another_build"}) {
    v1::FleetJob& job = *fleet.add_jobs();
    job.set_job(static_cast<uint64_t>(fleet.jobs_size()));
    *job.mutable_pipeline() = PipelineBuilder().Step(op, {{"field", "image"}}).Build();
    *job.mutable_source_schema() =
        SchemaToDef(Schema({{"image", DType::kUInt8, Shape({8, 8, 3})}}));
  }
  Observation seen;
  seen.jobs = {{.job = 1}, {.job = 2}, {.job = 3}};
  PipelineReader reader(catalog_);
  reader.Describe(fleet, seen);
  ASSERT_NE(seen.jobs[0].facts, nullptr);
  EXPECT_EQ(seen.jobs[1].facts, nullptr);
  EXPECT_THAT(seen.jobs[1].no_facts, HasSubstr("of_another_build"));
  EXPECT_EQ(seen.jobs[2].facts, nullptr) << "nobody told its pipeline";
  const auto before = seen.jobs[0].facts;
  reader.Describe(fleet, seen);
  EXPECT_EQ(seen.jobs[0].facts, before) << "it is read once";
}

}  // namespace
}  // namespace headrace::orchestrate
