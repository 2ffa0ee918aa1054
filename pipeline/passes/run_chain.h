// For the tests of passes only: what a pipeline of stateless steps makes of a block, with the
// optimizer and without.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "pipeline/graph/pipeline_builder.h"
#include "pipeline/passes/passes.h"

namespace headrace::pass_test {

// What the passes make of a pipeline, without running it.
inline Plan Planned(const PipelineBuilder& builder) {
  OpRegistry ops;
  RegisterAll_ops(ops);
  return AllPasses().Apply(builder.Build(), ops).value();
}
inline std::vector<std::string> Ops(const Plan& plan) {
  std::vector<std::string> out;
  for (const PlannedStep& planned : plan.steps) out.push_back(planned.step.op());
  return out;
}

// Runs every node over `block`, as the engine does.
inline Block RunChain(const Graph& graph, Block block, uint64_t epoch = 0) {
  for (const Node& node : graph.nodes()) {
    EXPECT_NE(node.stateless, nullptr) << node.Where();
    StepContext context;
    context.random = {node.seed, epoch, static_cast<uint32_t>(node.draw_index)};
    const absl::Status status = node.stateless->Run(block, context);
    EXPECT_TRUE(status.ok()) << node.Where() << ": " << status;
    block.Compact();
    block.SetSchema(node.output);
  }
  return block;
}

struct BothWays {
  Graph written;
  Graph optimized;
};

// `def` as written and as optimized, which must have found `rewrites` things, of which `moves` did
// not join two steps.
inline BothWays BuildBoth(const v1::PipelineDef& def, const Schema& source, size_t rewrites,
                          size_t moves = 0) {
  OpRegistry ops;
  RegisterAll_ops(ops);
  absl::StatusOr<Graph> written = Graph::Build(def, source, ops);
  absl::StatusOr<Graph> optimized = BuildOptimized(def, source, ops);
  EXPECT_TRUE(written.ok()) << written.status();
  EXPECT_TRUE(optimized.ok()) << optimized.status();
  EXPECT_EQ(optimized->rewrites().size(), rewrites);
  EXPECT_EQ(optimized->nodes().size() + rewrites - moves, written->nodes().size());
  return {*std::move(written), *std::move(optimized)};
}

}  // namespace headrace::pass_test
