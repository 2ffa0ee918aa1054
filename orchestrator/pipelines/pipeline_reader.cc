#include "orchestrator/pipelines/pipeline_reader.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "common/status.h"
#include "element/schema_proto.h"
#include "pipeline/graph/fingerprint.h"
#include "pipeline/graph/graph.h"
#include "pipeline/graph/passes/optimize.h"
#include "pipeline/graph/passes/place_cache.h"

namespace headrace::orchestrate {
namespace {

constexpr std::string_view kCache = "cache";

uint64_t KeyOf(std::string_view fingerprint, std::string_view dataset_version) {
  const std::string hex = Fingerprint().Add(fingerprint).Add(dataset_version).Hex();
  uint64_t key = 0;
  std::from_chars(hex.data(), hex.data() + 16, key, 16);
  return key;
}

bool IsCache(const Node& node) {
  return node.op == kCache || node.op == "_placed_cache" || node.op == "_passed_cache";
}

std::vector<const Node*> Working(const Graph& graph) {
  std::vector<const Node*> nodes;
  for (const Node& node : graph.nodes()) {
    if (!IsCache(node)) nodes.push_back(&node);
  }
  return nodes;
}

std::vector<std::string> Labels(const Graph& graph) {
  std::vector<std::string> labels;
  for (const Node* node : Working(graph)) labels.push_back(node->Label());
  return labels;
}

// How many steps stand in front of the graph's cache.
size_t StepsBeforeCache(const Graph& graph) {
  size_t steps = 0;
  for (size_t i = 0; i < graph.cache()->node; ++i) steps += !IsCache(graph.nodes()[i]);
  return steps;
}

void ReadOwnCache(const v1::PipelineDef& def, PipelineFacts& facts) {
  for (int i = 0; i < def.steps_size(); ++i) {
    if (def.steps(i).op() != kCache) continue;
    facts.own_cache = static_cast<size_t>(i);
    facts.own_tier = "auto";
    for (const v1::NamedValue& param : def.steps(i).params().entries()) {
      if (param.name() == "tier") facts.own_tier = param.value().text();
      if (param.name() == "variants") facts.own_is_fixed = param.value().integer() > 0;
    }
  }
}

class Cuts {
 public:
  Cuts(const v1::PipelineDef& def, const Schema& source, const std::string& version,
       const Catalog& catalog, const Graph& plain, PipelineFacts& facts)
      : def_(def),
        source_(source),
        version_(version),
        catalog_(catalog),
        nodes_(Working(plain)),
        labels_(Labels(plain)),
        facts_(facts) {}

  void Find() {
    for (size_t at = 0; at <= static_cast<size_t>(def_.steps_size()); ++at) {
      const absl::StatusOr<Graph> graph = BuildWithCacheAt({.before_step = at}, def_, source_,
                                                           catalog_.ops, catalog_.passes, version_);
      if (!graph.ok()) {
        Refuse(at, OneLine(graph.status()));
      } else if (Labels(*graph) == labels_) {  // else it would part what runs as one
        Take(at, *graph);
      }
    }
  }

 private:
  void Take(size_t at, const Graph& graph) {
    const size_t steps = StepsBeforeCache(graph);
    std::optional<size_t>& cut = steps == 0 ? facts_.source_cut : facts_.steps[steps - 1].cut;
    if (cut.has_value()) return;  // in front of the pipeline's own is behind it, too
    cut = at;
    (steps == 0 ? facts_.source_key : facts_.steps[steps - 1].key) =
        KeyOf(graph.cache()->fingerprint, version_);
  }

  void Refuse(size_t at, std::string reason) {
    if (at == 0) facts_.no_source_cut = reason;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i]->written_index + 1 == at) facts_.steps[i].no_cut = reason;
    }
  }

  const v1::PipelineDef& def_;
  const Schema& source_;
  const std::string& version_;
  const Catalog& catalog_;
  const std::vector<const Node*> nodes_;
  const std::vector<std::string> labels_;
  PipelineFacts& facts_;
};

}  // namespace

absl::StatusOr<PipelineFacts> FactsOf(const v1::PipelineDef& def, const v1::SchemaDef& source,
                                      const std::string& dataset_version, const Catalog& catalog) {
  HR_ASSIGN_OR_RETURN(const Schema schema, SchemaFromDef(source));
  HR_ASSIGN_OR_RETURN(const Graph plain,
                      BuildOptimized(def, schema, catalog.ops, catalog.passes, dataset_version));
  PipelineFacts facts;
  facts.passes = static_cast<double>(plain.passes());
  for (const Node* node : Working(plain)) {
    facts.steps.push_back({.step = node->Label(),
                           .one_to_one = node->traits.one_to_one,
                           .random = node->traits.random});
  }
  ReadOwnCache(def, facts);
  Cuts(def, schema, dataset_version, catalog, plain, facts).Find();
  for (StepFacts& step : facts.steps) {
    if (!step.cut.has_value() && step.no_cut.empty())
      step.no_cut = "it runs as one with what follows";
  }
  return facts;
}

void PipelineReader::Describe(const v1::ObserveFleetReply& fleet, Observation& seen) {
  if (fleet.cluster() != cluster_) read_.clear();  // other jobs have these numbers
  cluster_ = fleet.cluster();
  std::map<uint64_t, Read> read;
  for (const v1::FleetJob& job : fleet.jobs()) {
    if (!job.has_pipeline()) continue;
    Read& now = read[job.job()];
    if (const auto known = read_.find(job.job());
        known != read_.end() && known->second.version == job.dataset_version()) {
      now = known->second;
      continue;
    }
    now.version = job.dataset_version();
    absl::StatusOr<PipelineFacts> facts =
        FactsOf(job.pipeline(), job.source_schema(), job.dataset_version(), catalog_);
    if (facts.ok()) {
      now.facts = std::make_shared<const PipelineFacts>(*std::move(facts));
    } else {
      now.why_not = OneLine(facts.status());
    }
  }
  read_ = std::move(read);
  for (JobObservation& job : seen.jobs) {
    const auto found = read_.find(job.job);
    if (found == read_.end()) continue;
    job.facts = found->second.facts;
    job.no_facts = found->second.why_not;
  }
}

}  // namespace headrace::orchestrate
