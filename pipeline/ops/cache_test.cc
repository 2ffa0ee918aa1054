// Where a cache may stand, and what it changes: nothing but where rows come from.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pipeline/graph/graph.h"
#include "pipeline/graph/pipeline_builder.h"

namespace headrace {
namespace {

using ::testing::HasSubstr;

struct Step {
  std::string op;
  std::vector<std::pair<std::string, v1::Value>> params = {};
};
v1::Value Of(int64_t value) { return ToValue(value); }
v1::Value Of(const char* value) { return ToValue(std::string(value)); }

v1::PipelineDef Pipeline(const std::vector<Step>& steps) {
  v1::PipelineDef def;
  def.mutable_source()->set_format("jsonl");
  def.set_seed(5);
  for (const Step& given : steps) {
    v1::Step* step = def.add_steps();
    step->set_op(given.op);
    for (const auto& [name, value] : given.params) {
      v1::NamedValue* entry = step->mutable_params()->add_entries();
      entry->set_name(name);
      *entry->mutable_value() = value;
    }
  }
  return def;
}

absl::StatusOr<Graph> Build(const std::vector<Step>& steps, std::string_view version = "v") {
  OpRegistry ops;
  RegisterAll_ops(ops);
  const Schema image({{"image", DType::kUInt8, Shape({8, 8, 3})}});
  return Graph::Build(Pipeline(steps), image, ops, version);
}
std::string Error(const std::vector<Step>& steps) {
  const auto graph = Build(steps);
  EXPECT_TRUE(absl::IsInvalidArgument(graph.status())) << graph.status();
  return std::string(graph.status().message());
}

const Step kGrey{"grayscale", {{"field", Of("image")}}};
const Step kFlip{"random_flip", {{"field", Of("image")}}};
const Step kBatch{"batch", {{"size", Of(4)}}};
const Step kShuffle{"shuffle", {{"buffer", Of(10)}}};
const Step kCache{"cache"};

TEST(CacheStepTest, ACacheChangesNeitherDrawsNorTheFingerprintOfThePipeline) {
  const auto without = Build({kGrey, kFlip, kShuffle, kBatch});
  const auto with = Build({kGrey, kCache, kFlip, kShuffle, kBatch});
  const auto disk = Build({{"cache", {{"tier", Of("disk")}}}, kGrey, kFlip, kShuffle, kBatch});
  ASSERT_TRUE(without.ok() && with.ok() && disk.ok()) << with.status() << disk.status();
  EXPECT_EQ(without->fingerprint(), with->fingerprint());
  EXPECT_EQ(without->fingerprint(), disk->fingerprint());
  EXPECT_EQ(without->nodes().back().fingerprint, with->nodes().back().fingerprint);
  EXPECT_EQ(with->nodes()[2].draw_index, without->nodes()[1].draw_index);
  EXPECT_EQ(with->nodes()[2].written_index, 2u) << "messages count all steps";
  EXPECT_FALSE(without->cache());
  ASSERT_TRUE(with->cache());
  EXPECT_EQ(with->cache()->node, 1u);
  EXPECT_EQ(with->cache()->tier, "auto");
  EXPECT_EQ(disk->cache()->tier, "disk");
}

TEST(CacheStepTest, PipelinesShareWhatStandsInFrontOfTheCache) {
  const std::string one = Build({kGrey, kCache, kFlip, kBatch})->cache()->fingerprint;
  EXPECT_EQ(one, Build({kGrey, kCache, kShuffle, kBatch})->cache()->fingerprint);
  EXPECT_EQ(one, Build({kGrey, kCache}, "another version")->cache()->fingerprint)
      << "each file's version is part of the key of its splits";
  EXPECT_NE(one, Build({kCache, kGrey})->cache()->fingerprint);
  EXPECT_NE(one, Build({kGrey, {"cache", {{"key", Of("v2")}}}})->cache()->fingerprint);
}

TEST(CacheStepTest, RandomStepsInFrontNeedVariants) {
  EXPECT_THAT(Error({kFlip, kCache, kBatch}), HasSubstr("step 2 'cache': step 1 'random_flip'"));
  EXPECT_THAT(Error({kFlip, kCache, kBatch}), HasSubstr("variants"));
  const Step four{"cache", {{"variants", Of(4)}}};
  const auto graph = Build({kFlip, four, kBatch});
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->cache()->variants, 4u);
  EXPECT_NE(graph->fingerprint(), Build({kFlip, kBatch})->fingerprint())
      << "the records are others";
  EXPECT_NE(graph->nodes().back().fingerprint, Build({kFlip, kBatch})->nodes().back().fingerprint);
  EXPECT_EQ(Build({kGrey, four})->cache()->variants, 0u) << "nothing is drawn";
}

TEST(CacheStepTest, StepsThatMixSplitsMayNotStandInFront) {
  EXPECT_THAT(Error({kShuffle, kCache}), HasSubstr("'shuffle'"));
  EXPECT_THAT(Error({kBatch, kCache}), HasSubstr("'batch'"));
  EXPECT_THAT(Error({{"take", {{"count", Of(4)}}}, kCache}), HasSubstr("'take'"));
  EXPECT_THAT(Error({{"shard"}, kCache}), HasSubstr("'shard'"));
  EXPECT_TRUE(Build({{"repeat", {{"count", Of(2)}}}, kCache}).ok());
  EXPECT_THAT(Error({kCache, kGrey, kCache}), HasSubstr("step 3 'cache'"));
}

TEST(CacheStepTest, ParametersAreChecked) {
  EXPECT_THAT(Error({{"cache", {{"tier", Of("tape")}}}}), HasSubstr("auto, memory or disk"));
  EXPECT_THAT(Error({{"cache", {{"variants", Of(-1)}}}}), HasSubstr("variants"));
}

}  // namespace
}  // namespace headrace
