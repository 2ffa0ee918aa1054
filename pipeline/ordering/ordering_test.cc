#include "pipeline/ordering/ordering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/catalog/catalog.h"
#include "pipeline/graph/pipeline_builder.h"

namespace headrace {
namespace {

using testing::HasSubstr;

v1::Value Integer(int64_t n) {
  v1::Value value;
  value.set_integer(n);
  return value;
}
v1::Value Text(const std::string& text) {
  v1::Value value;
  value.set_text(text);
  return value;
}
v1::Value Boolean(bool on) {
  v1::Value value;
  value.set_boolean(on);
  return value;
}

v1::PipelineDef Pipeline(
    std::vector<std::pair<std::string, std::vector<std::pair<std::string, v1::Value>>>> steps) {
  v1::PipelineDef def;
  def.set_seed(7);
  for (auto& [op, params] : steps) {
    v1::Step& step = *def.add_steps();
    step.set_op(op);
    for (auto& [name, value] : params) {
      v1::NamedValue& entry = *step.mutable_params()->add_entries();
      entry.set_name(name);
      *entry.mutable_value() = value;
    }
  }
  return def;
}

absl::StatusOr<v1::OrderedPlan> PlanOf(const v1::PipelineDef& def) {
  const Catalog catalog;
  const Schema schema({{"x", DType::kInt64, Shape()}, {"text", DType::kBytes, Shape()}});
  const absl::StatusOr<Graph> graph = Graph::Build(def, schema, catalog.ops);
  if (!graph.ok()) return graph.status();
  return OrderedPlanOf(def, *graph);
}

TEST(OrderingTest, ThePlanIsReadOffTheBatchingStep) {
  const auto plan = PlanOf(Pipeline({{"shuffle", {{"buffer", Integer(100)}}},
                                     {"filter", {{"where", Text("x > 3")}}},
                                     {"batch", {{"size", Integer(64)}}}}));
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->batch_rows(), 64u);
  EXPECT_TRUE(plan->shuffled());
  EXPECT_FALSE(plan->drop_remainder());
  EXPECT_FALSE(plan->padded());
  EXPECT_EQ(plan->seed(), 7u);
}

TEST(OrderingTest, WithoutBatchesThereIsNothingToOrder) {
  const auto plan = PlanOf(Pipeline({{"shuffle", {{"buffer", Integer(100)}}}}));
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(plan.status().message()), HasSubstr("add a 'batch'"));
}

TEST(OrderingTest, AStepThatReordersBatchesIsNamed) {
  const auto plan = PlanOf(
      Pipeline({{"batch", {{"size", Integer(4)}}}, {"shuffle", {{"buffer", Integer(100)}}}}));
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(plan.status().message()), HasSubstr("shuffle"));
  EXPECT_THAT(std::string(plan.status().message()), HasSubstr("move it in front"));
}

TEST(OrderingTest, ALaneHasItsShareOfTheShuffleBuffersAndKeepsRemainders) {
  const v1::PipelineDef form =
      LaneForm(Pipeline({{"shuffle", {{"buffer", Integer(100)}}},
                         {"batch", {{"size", Integer(4)}, {"drop_remainder", Boolean(true)}}}}),
               16);
  EXPECT_EQ(form.steps(0).params().entries(0).value().integer(), 28);
  EXPECT_FALSE(form.steps(1).params().entries(1).value().boolean());
}

}  // namespace
}  // namespace headrace
