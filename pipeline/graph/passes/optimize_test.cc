#include "pipeline/graph/passes/optimize.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pipeline/graph/pipeline_builder.h"
#include "pipeline/graph/test_ops.h"

namespace headrace {
namespace {

using ::testing::ElementsAre;

class OptimizeTest : public ::testing::Test {
 protected:
  absl::StatusOr<Graph> Build() {
    const Schema source({{"image", DType::kUInt8, {8, 8, 3}}});
    return BuildOptimized(def_, source, ops_, passes_);
  }

  OpRegistry ops_ = test_ops::Registry();
  PassList passes_;
  v1::PipelineDef def_ = PipelineBuilder()
                             .Step("repeat", {{"count", 2}})
                             .Step("shard")
                             .Step("batch", {{"size", 2}})
                             .Build();
};

class DropShard final : public Pass {
 public:
  std::string_view name() const override { return "drop_shard"; }
  std::string_view help() const override { return "For tests: wrong."; }
  absl::StatusOr<bool> Apply(Plan& plan, const OpRegistry&) const override {
    for (PlannedStep& planned : plan.steps) {
      if (planned.step.op() != "shard") continue;
      planned.step.set_op("fused");
      plan.rewrites.push_back("replaced shard");
    }
    return true;
  }
};

class Swap final : public Pass {
 public:
  std::string_view name() const override { return "swap"; }
  std::string_view help() const override { return "For tests: swaps the first two steps."; }
  absl::StatusOr<bool> Apply(Plan& plan, const OpRegistry&) const override {
    if (plan.steps.size() < 2) return false;
    std::swap(plan.steps[0], plan.steps[1]);
    plan.rewrites.push_back("swapped the first two steps");
    return true;
  }
};

class Broken final : public Pass {
 public:
  std::string_view name() const override { return "broken"; }
  std::string_view help() const override { return "For tests: fails."; }
  absl::StatusOr<bool> Apply(Plan&, const OpRegistry&) const override {
    return absl::InternalError("a bug");
  }
};

TEST_F(OptimizeTest, RewrittenStepsKeepTheirNumbers) {
  passes_.Add(std::make_unique<Swap>());
  const absl::StatusOr<Graph> graph = Build();
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->nodes()[0].Label(), "2:shard");
  EXPECT_EQ(graph->nodes()[1].Label(), "1:repeat");
  EXPECT_THAT(graph->rewrites(), ElementsAre("swapped the first two steps"));
}

TEST_F(OptimizeTest, APassIsSwitchedOffByItsNameOrWithAll) {
  passes_.Add(std::make_unique<Swap>());
  const std::string print = Build().value().fingerprint();
  for (const char* name : {"swap", "all"}) {
    *def_.mutable_disabled_passes() = {};
    def_.add_disabled_passes(name);
    const absl::StatusOr<Graph> graph = Build();
    ASSERT_TRUE(graph.ok()) << graph.status();
    EXPECT_EQ(graph->nodes()[0].Label(), "1:repeat");
    EXPECT_TRUE(graph->rewrites().empty());
    EXPECT_EQ(graph->fingerprint(), print) << "the same job";
  }
  def_.add_disabled_passes("swop");
  EXPECT_EQ(Build().status().message(), "optimize: unknown pass 'swop'; did you mean 'swap'?");
}

TEST_F(OptimizeTest, AWrongPassIsFoundOutNotRun) {
  passes_.Add(std::make_unique<DropShard>());
  const absl::Status status = Build().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("replaced shard"));
}

TEST_F(OptimizeTest, AFailedPassIsNamed) {
  passes_.Add(std::make_unique<Broken>());
  EXPECT_EQ(Build().status().message(), "optimizer pass 'broken': a bug");
}

TEST_F(OptimizeTest, ErrorsAreAboutThePipelineAsWritten) {
  passes_.Add(std::make_unique<Broken>());
  def_.mutable_steps(1)->set_op("shrd");
  EXPECT_THAT(std::string(Build().status().message()),
              ::testing::HasSubstr("step 2: unknown step 'shrd'; did you mean 'shard'?"));
}

}  // namespace
}  // namespace headrace
