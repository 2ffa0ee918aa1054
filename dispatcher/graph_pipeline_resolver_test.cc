// The real resolver, on the format `range` and on files that the test makes.
#include "dispatcher/graph_pipeline_resolver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "fmt/format.h"
#include "pipeline/catalog/catalog.h"

namespace headrace {
namespace {

using testing::HasSubstr;

class GraphPipelineResolverTest : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = fmt::format("{}/hr_resolver_{}", testing::TempDir(), getpid());
    std::filesystem::create_directories(directory_);
    std::ofstream(directory_ + "/a.txt") << "{\"x\": 1}\n{\"x\": 2}\n";
    std::ofstream(directory_ + "/b.txt") << "";
    pipeline_.mutable_source()->add_files(directory_ + "/*.txt");
    pipeline_.mutable_source()->set_format("text");
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  absl::StatusOr<ResolvedPipeline> Resolve() {
    return MakeGraphPipelineResolver(catalog_.ops, catalog_.formats, NewLocalFileSystem())
        ->Resolve(pipeline_, 64 << 20);
  }

  Catalog catalog_;
  std::string directory_;
  v1::PipelineDef pipeline_;
};

TEST_F(GraphPipelineResolverTest, SplitsSchemaAndFlagsAreThoseOfTheRealPipeline) {
  v1::Step& take = *pipeline_.add_steps();
  take.set_op("take");
  v1::NamedValue& count = *take.mutable_params()->add_entries();
  count.set_name("count");
  count.mutable_value()->set_integer(1);
  const auto resolved = Resolve();
  ASSERT_TRUE(resolved.ok()) << resolved.status();
  EXPECT_EQ(resolved->splits.size(), 1u);  // an empty file gives none
  ASSERT_EQ(resolved->schema.fields_size(), resolved->source_schema.fields_size());
  EXPECT_TRUE(resolved->single_task);
  EXPECT_FALSE(resolved->batched);
  EXPECT_EQ(resolved->passes, 1u);
  EXPECT_EQ(resolved->fingerprint.size(), 32u);
}

TEST_F(GraphPipelineResolverTest, AShardStepAfterABatchIsSeen) {
  pipeline_.add_steps()->set_op("shard");
  v1::Step& batch = *pipeline_.add_steps();
  batch.set_op("batch");
  v1::NamedValue& size = *batch.mutable_params()->add_entries();
  size.set_name("size");
  size.mutable_value()->set_integer(2);
  auto resolved = Resolve();
  ASSERT_TRUE(resolved.ok()) << resolved.status();
  EXPECT_TRUE(resolved->shard_hint);
  EXPECT_FALSE(resolved->shards_batches);
  pipeline_.mutable_steps()->SwapElements(0, 1);
  resolved = Resolve();
  ASSERT_TRUE(resolved.ok()) << resolved.status();
  EXPECT_TRUE(resolved->shards_batches);
}

TEST_F(GraphPipelineResolverTest, AWrongStepIsNamed) {
  pipeline_.add_steps()->set_op("shufle");
  EXPECT_THAT(Resolve().status().ToString(), HasSubstr("shuffle"));
}

TEST_F(GraphPipelineResolverTest, NoFileIsNamed) {
  *pipeline_.mutable_source()->mutable_files(0) = directory_ + "/*.nothing";
  EXPECT_EQ(Resolve().status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Resolve().status().ToString(), HasSubstr("*.nothing"));
}

TEST_F(GraphPipelineResolverTest, AGrownFileIsAnotherVersion) {
  const auto before = Resolve();
  std::ofstream(directory_ + "/a.txt", std::ios::app) << "{\"x\": 3}\n";
  const auto after = Resolve();
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_NE(before->dataset_version, after->dataset_version);
  EXPECT_EQ(before->fingerprint, after->fingerprint);
}

}  // namespace
}  // namespace headrace
