#include "pipeline/graph/text/explain_text.h"

#include <nlohmann/json.hpp>

#include "gtest/gtest.h"
#include "pipeline/graph/pipeline_builder.h"
#include "pipeline/graph/test_ops.h"

namespace headrace {
namespace {

v1::PipelineDef Train() {
  return PipelineBuilder("train")
      .Seed(7)
      .Read({"data/*.tfrecord"}, "tfrecord", {{"verify", true}})
      .Step("parse_example", {{"fields", Map({{"image", "bytes"}, {"label", "int64"}})}})
      .Step("decode_image", {{"field", "image"}})
      .Step("repeat", {{"count", 2}})
      .Step("random_resized_crop", {{"field", "image"}, {"size", List({8, 8})}})
      .Step("take", {{"count", 100}})
      .Step("batch", {{"size", 4}})
      .Build();
}

Graph GraphOf(const v1::PipelineDef& def, std::string rewrite = "") {
  Plan plan = PlanOf(def);
  if (!rewrite.empty()) plan.rewrites.push_back(std::move(rewrite));
  return Graph::BuildPlanned(def, plan, Schema({{"record", DType::kBytes, Shape()}}),
                             test_ops::Registry())
      .value();
}

// Every fingerprint's first digits, so that the text does not change with the hash.
std::string WithoutPrints(std::string text, const Graph& graph) {
  std::vector<std::string> prints = {graph.fingerprint(), graph.source_fingerprint().substr(0, 8)};
  for (const Node& node : graph.nodes()) prints.push_back(node.fingerprint.substr(0, 8));
  for (const std::string& print : prints) {
    const size_t at = text.find(print);
    EXPECT_NE(at, std::string::npos) << print;
    if (at != std::string::npos) text.replace(at, print.size(), std::string(print.size(), '#'));
  }
  return text;
}

TEST(ExplainTextTest, APersonSeesStepsParametersAndWhatLeaves) {
  const v1::PipelineDef def = Train();
  const Graph graph = GraphOf(
      def, "fused decode_image with random_resized_crop: only the needed region is decoded");
  EXPECT_EQ(WithoutPrints(ExplainText(def, graph), graph),
            R"(pipeline train  seed 7  fingerprint ################################

STEP                   PARAMETERS                            KIND                   STREAM    LEAVES
0:tfrecord             data/*.tfrecord, verify: true         source                 ########  {record: bytes []}
1:parse_example        fields: {image: bytes, label: int64}  stateless              ########  {image: bytes [], label: int64 []}
2:decode_image         field: image                          stateless              ########  {image: uint8 [?, ?, 3], label: int64 []}
3:repeat               count: 2                              stateless              ########  (the same)
4:random_resized_crop  field: image, size: [8, 8]            stateless, random      ########  {image: uint8 [8, 8, 3], label: int64 []}
5:take                 count: 100                            stateful, whole epoch  ########  (the same)
6:batch                size: 4                               stateful, batches      ########  {image: uint8 [?, 8, 8, 3], label: int64 [?]}

optimizer:
  fused decode_image with random_resized_crop: only the needed region is decoded

notes:
  an epoch reads the source 2 times
  a step counts rows of the whole epoch: each epoch runs on one worker
)");
}

TEST(ExplainTextTest, AProgramSeesTheSame) {
  const v1::PipelineDef def = Train();
  const Graph graph = GraphOf(def);
  const nlohmann::ordered_json json = ExplainJson(def, graph);
  EXPECT_EQ(json["name"], "train");
  EXPECT_EQ(json["fingerprint"], graph.fingerprint());
  EXPECT_EQ(json["source"]["params"]["verify"], true);
  EXPECT_EQ(json["source"]["schema"][0]["dtype"], "bytes");
  ASSERT_EQ(json["steps"].size(), 6u);
  EXPECT_EQ(json["steps"][3]["label"], "4:random_resized_crop");
  EXPECT_EQ(json["steps"][3]["params"].dump(),
            R"({"field":"image","size":[8,8],"scale":1.0,"seed":null})");
  EXPECT_EQ(json["steps"][3]["random"], true);
  EXPECT_EQ(json["steps"][1]["schema"][0]["shape"].dump(), "[null,null,3]");
  EXPECT_EQ(
      json["segments"].dump(),
      R"([["1:parse_example","2:decode_image","3:repeat","4:random_resized_crop"],["5:take"],["6:batch"]])");
  EXPECT_EQ(json["source_passes"], 2);
  EXPECT_EQ(json["single_task"], true);
  EXPECT_EQ(json["batched"], true);
  EXPECT_EQ(json["schema"][0]["shape"].dump(), "[null,8,8,3]");
}

TEST(ExplainTextTest, ValuesThatJsonLacksAreSpelled) {
  v1::PipelineDef def =
      PipelineBuilder().Read({}, "range", {{"a", "\xFF"}, {"b", INFINITY}}).Build();
  EXPECT_EQ(ExplainJson(def, GraphOf(def))["source"]["params"].dump(),
            R"({"a":{"base64":"/w=="},"b":".inf"})");
  EXPECT_NE(ExplainText(def, GraphOf(def)).find("rows leave one by one"), std::string::npos);
}

}  // namespace
}  // namespace headrace
