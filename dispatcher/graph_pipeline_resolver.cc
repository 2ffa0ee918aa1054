#include "dispatcher/graph_pipeline_resolver.h"

#include <exception>
#include <utility>

#include "common/status.h"
#include "element/schema_proto.h"
#include "pipeline/formats/dataset/dataset.h"
#include "pipeline/graph/graph.h"
#include "pipeline/ordering/ordering.h"

namespace headrace {
namespace {

bool ShardsBatches(const Graph& graph) {
  bool batched = false;
  for (const Node& node : graph.nodes()) {
    if (node.op == "shard" && batched) return true;
    batched = batched || node.traits.emits_batches;
  }
  return false;
}

class GraphPipelineResolver final : public PipelineResolver {
 public:
  GraphPipelineResolver(const OpRegistry& ops, const FormatRegistry& formats,
                        std::shared_ptr<FileSystem> files)
      : ops_(ops), formats_(formats), files_(std::move(files)) {}

  absl::StatusOr<ResolvedPipeline> Resolve(const v1::PipelineDef& pipeline,
                                           uint64_t target_split_bytes) override {
    try {
      return Checked(pipeline, target_split_bytes);
    } catch (const std::exception& error) {
      return Internal("resolving the pipeline: {}", error.what());
    }
  }

 private:
  absl::StatusOr<ResolvedPipeline> Checked(const v1::PipelineDef& pipeline,
                                           uint64_t target_split_bytes) {
    SplitOptions options;
    options.target_bytes = target_split_bytes;
    HR_ASSIGN_OR_RETURN(Dataset dataset,
                        ListDataset(pipeline.source(), formats_, *files_, options));
    HR_ASSIGN_OR_RETURN(const Graph graph,
                        Graph::Build(pipeline, dataset.schema, ops_, dataset.version));
    ResolvedPipeline resolved;
    resolved.splits = std::move(dataset.splits);
    resolved.source_schema = SchemaToDef(dataset.schema);
    resolved.schema = SchemaToDef(*graph.output_schema());
    resolved.batched = graph.batched();
    resolved.passes = graph.passes();
    resolved.single_task = graph.needs_single_task();
    resolved.shard_hint = graph.has_shard_hint();
    resolved.shards_batches = ShardsBatches(graph);
    resolved.fingerprint = graph.fingerprint();
    resolved.dataset_version = dataset.version;
    resolved.ordered = OrderedPlanOf(pipeline, graph);
    return resolved;
  }

  const OpRegistry& ops_;
  const FormatRegistry& formats_;
  const std::shared_ptr<FileSystem> files_;
};

}  // namespace

std::unique_ptr<PipelineResolver> MakeGraphPipelineResolver(const OpRegistry& ops,
                                                            const FormatRegistry& formats,
                                                            std::shared_ptr<FileSystem> files) {
  return std::make_unique<GraphPipelineResolver>(ops, formats, std::move(files));
}

}  // namespace headrace
