#include "pipeline/graph/graph.h"

#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pipeline/graph/fingerprint.h"
#include "pipeline/graph/test_ops.h"

namespace headrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A pipeline, one step after the other.
class Def {
 public:
  Def() {
    def_.set_name("train");
    def_.mutable_source()->set_format("tfrecord");
  }
  Def& Step(std::string op) {
    v1::Step* step = def_.add_steps();
    step->set_op(std::move(op));
    step->set_location("train.yaml:" + std::to_string(3 + def_.steps_size()));
    return *this;
  }
  template <typename T>
  Def& With(std::string name, T value) {
    v1::NamedValue* entry =
        def_.mutable_steps(def_.steps_size() - 1)->mutable_params()->add_entries();
    entry->set_name(std::move(name));
    *entry->mutable_value() = ToValue(value);
    return *this;
  }
  Def& Text(std::string name, std::string value) { return With(std::move(name), std::move(value)); }
  Def& Int(std::string name, int64_t value) { return With(std::move(name), value); }
  Def& Seed(uint64_t seed) {
    def_.set_seed(seed);
    return *this;
  }
  v1::PipelineDef& get() { return def_; }

 private:
  v1::PipelineDef def_;
};

Def Images() {
  Def def;
  def.Step("parse_example").With("fields", StringMap{{"image", "bytes"}, {"label", "int64"}});
  def.Step("decode_image").Text("field", "image");
  def.Step("resize").Text("field", "image").With("size", std::vector<int64_t>{8, 8});
  return def;
}

Schema Source() { return Schema({{"record", DType::kBytes, Shape()}}); }

absl::StatusOr<Graph> Build(Def def) {
  return Graph::Build(def.get(), Source(), test_ops::Registry());
}

std::string Error(Def def) {
  const absl::StatusOr<Graph> graph = Build(std::move(def));
  if (graph.ok()) return "OK";
  EXPECT_EQ(graph.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(graph.status().message());
}

TEST(GraphTest, EveryStepIsBoundToTheSchemaThatReachesIt) {
  const absl::StatusOr<Graph> graph = Build(Images().Step("batch").Int("size", 4));
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->source_schema()->ToString(), "{record: bytes []}");
  EXPECT_EQ(graph->nodes()[1].output->ToString(), "{image: uint8 [?, ?, 3], label: int64 []}");
  EXPECT_EQ(graph->nodes()[2].output->ToString(), "{image: uint8 [8, 8, 3], label: int64 []}");
  EXPECT_EQ(graph->output_schema()->ToString(), "{image: uint8 [?, 8, 8, 3], label: int64 [?]}");
  EXPECT_EQ(graph->nodes()[3].Label(), "4:batch");
  EXPECT_TRUE(graph->batched());
  EXPECT_FALSE(graph->needs_single_task());
  EXPECT_FALSE(graph->has_shard_hint());
  EXPECT_EQ(graph->passes(), 1u);
}

TEST(GraphTest, NoStepsIsAPipelineToo) {
  const absl::StatusOr<Graph> graph = Build(Def());
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(*graph->output_schema(), Source());
  EXPECT_TRUE(graph->segments().empty());
  EXPECT_EQ(graph->fingerprint().size(), 32u);
}

TEST(GraphTest, SegmentsAreChainsBetweenStatefulSteps) {
  const absl::StatusOr<Graph> graph = Build(Images()
                                                .Step("shuffle")
                                                .Int("buffer", 10)
                                                .Step("take")
                                                .Int("count", 3)
                                                .Step("shard")
                                                .Step("batch")
                                                .Int("size", 4));
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_THAT(graph->segments(),
              ElementsAre(Segment{false, 0, 3}, Segment{true, 3, 4}, Segment{true, 4, 5},
                          Segment{false, 5, 6}, Segment{true, 6, 7}));
  EXPECT_TRUE(graph->needs_single_task());
  EXPECT_TRUE(graph->has_shard_hint());
  for (const Node& node : graph->nodes())
    EXPECT_NE(node.stateless == nullptr, node.stateful == nullptr);
}

TEST(GraphTest, TheErrorStandsAtTheWrongStep) {
  Def def;
  def.Step("parse_example").With("fields", StringMap{{"image", "bytes"}});
  def.Step("resize").Text("field", "image").With("size", std::vector<int64_t>{8, 8});
  EXPECT_EQ(
      Error(def),
      "train.yaml:5: step 2 'resize': field 'image' is bytes; decode it first with decode_image");
}

TEST(GraphTest, WrongStepsAreNamedWithWhatToDo) {
  EXPECT_EQ(Error(Images().Step("btach")),
            "train.yaml:7: step 4: unknown step 'btach'; did you mean 'batch'?");
  EXPECT_EQ(Error(Images().Step("fused")),
            "train.yaml:7: step 4: 'fused' is made by the optimizer, pipelines do not name it");
  EXPECT_EQ(Error(Images().Step("batch").Int("sise", 4)),
            "train.yaml:7: step 4 'batch': unknown parameter 'sise'; did you mean 'size'?");
  EXPECT_EQ(Error(Images().Step("batch")),
            "train.yaml:7: step 4 'batch': parameter 'size' is missing: records in a batch");
  EXPECT_EQ(Error(Images().Step("batch").Text("size", "big")),
            "train.yaml:7: step 4 'batch': size: expected an integer, got the text 'big'");
  EXPECT_EQ(Error(Images().Step("decode_image").Text("field", "imge")),
            "train.yaml:7: step 4 'decode_image': no field 'imge'; did you mean 'image'? (fields: "
            "image, label)");
  EXPECT_EQ(
      Error(Def().Step("parse_example").With("fields", StringMap{{"a", "bytes"}, {"a", "int64"}})),
      "train.yaml:4: step 1 'parse_example': its output has two fields named 'a'");
}

TEST(GraphTest, RepeatComesOnceAndBeforeBatches) {
  const absl::StatusOr<Graph> graph =
      Build(Images().Step("repeat").Int("count", 3).Step("batch").Int("size", 4));
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->passes(), 3u);
  EXPECT_EQ(Error(Images().Step("repeat").Int("count", 0)),
            "train.yaml:7: step 4 'repeat': count: expected an integer of at least 1");
  EXPECT_EQ(Error(Images().Step("batch").Int("size", 4).Step("repeat").Int("count", 2)),
            "train.yaml:8: step 5 'repeat': repeat comes before batch, padded_batch, take and "
            "skip: move it up");
  EXPECT_THAT(Error(Images().Step("take").Int("count", 4).Step("repeat").Int("count", 2)),
              HasSubstr("move it up"));
  EXPECT_THAT(Error(Images().Step("repeat").Int("count", 2).Step("repeat").Int("count", 2)),
              HasSubstr("repeats already"));
}

std::string PrintOf(Def def) { return Build(std::move(def)).value().fingerprint(); }
std::string LastPrintOf(Def def) {
  return Build(std::move(def)).value().nodes().back().fingerprint;
}

TEST(FingerprintTest, SpellingChangesNothing) {
  const std::string print = PrintOf(Images());
  Def other;
  other.get().set_name("another name");
  other.get().mutable_source()->add_files("elsewhere/*.tfrecord");
  other.get().mutable_errors()->set_on_error(v1::ON_ERROR_SKIP);
  other.get().add_disabled_passes("fuse_decode");
  other.Step("parse_example").With("fields", StringMap{{"image", "bytes"}, {"label", "int64"}});
  other.Step("decode_image").Text("field", "image");
  // A default written out, an integer for a float, another order.
  other.Step("resize")
      .Int("scale", 1)
      .With("size", std::vector<int64_t>{8, 8})
      .Text("field", "image");
  for (v1::Step& step : *other.get().mutable_steps()) step.set_location("other.py:1");
  EXPECT_EQ(PrintOf(other), print);
  EXPECT_EQ(LastPrintOf(other), LastPrintOf(Images()));
}

TEST(FingerprintTest, EveryRealChangeChangesIt) {
  std::set<std::string> prints = {PrintOf(Images())};
  EXPECT_TRUE(prints.insert(PrintOf(Images().Seed(1))).second);
  EXPECT_TRUE(prints.insert(PrintOf(Images().With("scale", 2.0))).second);
  EXPECT_TRUE(prints.insert(PrintOf(Images().Int("seed", 2))).second);
  EXPECT_TRUE(prints.insert(PrintOf(Images().Step("shard"))).second);
  Def format = Images();
  format.get().mutable_source()->set_format("jsonl");
  EXPECT_TRUE(prints.insert(PrintOf(format)).second);
  Def fields;
  fields.Step("parse_example").With("fields", StringMap{{"label", "int64"}, {"image", "bytes"}});
  fields.Step("decode_image").Text("field", "image");
  fields.Step("resize").Text("field", "image").With("size", std::vector<int64_t>{8, 8});
  EXPECT_TRUE(prints.insert(PrintOf(fields)).second) << "the order of fields is the schema's order";
}

TEST(FingerprintTest, APrefixHangsOnTheSeedOnlyFromTheFirstRandomStep) {
  Def crop;
  crop.Step("parse_example").With("fields", StringMap{{"image", "bytes"}});
  crop.Step("decode_image").Text("field", "image");
  crop.Step("random_resized_crop").Text("field", "image").With("size", std::vector<int64_t>{8, 8});
  Def seeded = crop;
  seeded.Seed(9);
  const Graph a = Build(crop).value();
  const Graph b = Build(seeded).value();
  EXPECT_EQ(a.nodes()[1].fingerprint, b.nodes()[1].fingerprint);
  EXPECT_NE(a.nodes()[2].fingerprint, b.nodes()[2].fingerprint);
  EXPECT_EQ(b.nodes()[2].seed, 9u);
  EXPECT_EQ(Build(seeded.Int("seed", 4)).value().nodes()[2].seed, 4u);
}

TEST(FingerprintTest, ADatasetVersionMattersToStreamsNotToTheGraph) {
  Def def = Images();
  const Graph a = Graph::Build(def.get(), Source(), test_ops::Registry(), "v1").value();
  const Graph b = Graph::Build(def.get(), Source(), test_ops::Registry(), "v2").value();
  EXPECT_EQ(a.fingerprint(), b.fingerprint());
  EXPECT_NE(a.source_fingerprint(), b.source_fingerprint());
  EXPECT_NE(a.nodes()[0].fingerprint, b.nodes()[0].fingerprint);
}

TEST(FingerprintTest, ItIsTheSameOnEveryMachine) {
  // Written down once: a change here invalidates caches and checkpoints of users.
  EXPECT_EQ(Fingerprint().Add("a").Add(uint64_t{1}).Add(ToValue(1.5)).Hex(),
            "5e61ca2175e9bf33e77c92b861f57cbd");
}

TEST(GraphTest, APlanKeepsTheIndexAndTheFingerprintAsWritten) {
  Def def = Images();
  Plan plan = PlanOf(def.get());
  plan.steps.erase(plan.steps.begin() + 1, plan.steps.end());
  v1::Step fused;
  fused.set_op("fused");
  plan.steps.push_back({fused, 2});
  plan.rewrites.push_back("fused decode_image with resize");
  const absl::StatusOr<Graph> graph =
      Graph::BuildPlanned(def.get(), plan, Source(), test_ops::Registry());
  ASSERT_TRUE(graph.ok()) << graph.status();
  ASSERT_EQ(graph->nodes().size(), 2u);
  EXPECT_EQ(graph->nodes()[1].Label(), "3:fused");
  EXPECT_EQ(graph->fingerprint(), PrintOf(Images()));
  EXPECT_NE(graph->nodes()[1].fingerprint, LastPrintOf(Images()));
  EXPECT_THAT(graph->rewrites(), ElementsAre("fused decode_image with resize"));
}

}  // namespace
}  // namespace headrace
