#include "pipeline/graph/text/explain_text.h"

#include <algorithm>
#include <array>
#include <vector>

#include "fmt/core.h"
#include "pipeline/graph/text/json_value.h"
#include "pipeline/graph/text/literals.h"

namespace headrace {
namespace {

constexpr size_t kWidestParams = 56;
constexpr size_t kShortPrint = 8;  // digits of a fingerprint that people are shown

using Row = std::array<std::string, 5>;

// Code points, which is what a terminal counts for most text.
size_t Width(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string Table(const std::vector<Row>& rows) {
  std::array<size_t, 5> width{};
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], Width(row[i]));
  }
  std::string out;
  for (const Row& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line += std::string(width[i] - Width(row[i]) + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string Short(std::string text) {
  if (Width(text) <= kWidestParams) return text;
  size_t end = 0;
  for (size_t seen = 0; end < text.size(); ++end) {
    if ((text[end] & 0xC0) != 0x80 && ++seen > kWidestParams - 3) break;
  }
  return text.substr(0, end) + "...";
}

std::string ParamsText(const v1::ValueMap& params) {
  std::string out;
  for (const v1::NamedValue& entry : params.entries()) {
    if (entry.value().kind_case() == v1::Value::kNone) continue;  // a default that says nothing
    out += fmt::format("{}{}: {}", out.empty() ? "" : ", ", YamlText(entry.name()),
                       YamlLiteral(entry.value()));
  }
  return Short(std::move(out));
}

std::string Kind(const Node& node) {
  std::string out = node.stateful != nullptr ? "stateful"
                    : node.async != nullptr  ? "subprocess"
                                             : "stateless";
  if (node.traits.random) out += ", random";
  if (!node.traits.one_to_one && node.stateful == nullptr) {
    out += node.traits.cuts_records ? ", cuts" : ", filters";
  };
  if (node.traits.global_order) out += ", whole epoch";
  if (node.traits.emits_batches) out += ", batches";
  return out;
}

std::string SourceText(const v1::Source& source) {
  std::string out;
  for (const std::string& file : source.files()) out += (out.empty() ? "" : ", ") + file;
  const std::string params = ParamsText(source.params());
  if (!params.empty()) out += (out.empty() ? "" : ", ") + params;
  return Short(std::move(out));
}

std::vector<Row> Rows(const v1::PipelineDef& def, const Graph& graph) {
  const std::string format = def.source().format().empty() ? "source" : def.source().format();
  std::vector<Row> rows = {
      {"STEP", "PARAMETERS", "KIND", "STREAM", "LEAVES"},
      {"0:" + format, SourceText(def.source()), "source",
       graph.source_fingerprint().substr(0, kShortPrint), graph.source_schema()->ToString()}};
  const Schema* before = graph.source_schema().get();
  for (const Node& node : graph.nodes()) {
    rows.push_back({node.Label(), ParamsText(node.given), Kind(node),
                    node.fingerprint.substr(0, kShortPrint),
                    *node.output == *before ? "(the same)" : node.output->ToString()});
    before = node.output.get();
  }
  return rows;
}

nlohmann::ordered_json Json(const Schema& schema) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const Field& field : schema.fields()) {
    nlohmann::ordered_json shape = nullptr;
    if (field.shape.has_rank()) {
      shape = nlohmann::ordered_json::array();
      for (int64_t dim : field.shape.dims()) {
        shape.push_back(dim == Shape::kDynamic ? nlohmann::ordered_json(nullptr)
                                               : nlohmann::ordered_json(dim));
      }
    }
    out.push_back({{"name", field.name},
                   {"dtype", std::string(Name(field.dtype))},
                   {"shape", std::move(shape)}});
  }
  return out;
}

nlohmann::ordered_json Json(const Node& node) {
  return {{"step", node.written_index + 1},
          {"op", node.op},
          {"label", node.Label()},
          {"location", node.location},
          {"params", JsonValue(node.params)},
          {"stateful", node.stateful != nullptr},
          {"random", node.traits.random},
          {"one_to_one", node.traits.one_to_one},
          {"global_order", node.traits.global_order},
          {"emits_batches", node.traits.emits_batches},
          {"schema", Json(*node.output)},
          {"fingerprint", node.fingerprint}};
}

}  // namespace

std::string ExplainText(const v1::PipelineDef& def, const Graph& graph) {
  std::string out =
      fmt::format("pipeline {}  seed {}  fingerprint {}\n\n",
                  def.name().empty() ? "(no name)" : def.name(), graph.seed(), graph.fingerprint());
  out += Table(Rows(def, graph));
  if (!graph.rewrites().empty()) out += "\noptimizer:\n";
  for (const std::string& rewrite : graph.rewrites()) out += "  " + rewrite + "\n";
  std::string notes;
  if (graph.passes() > 1)
    notes += fmt::format("  an epoch reads the source {} times\n", graph.passes());
  if (graph.needs_single_task())
    notes += "  a step counts rows of the whole epoch: each epoch runs on one worker\n";
  if (graph.has_shard_hint()) notes += "  with sharding `hint`, the stream is divided at `shard`\n";
  if (!graph.batched()) notes += "  rows leave one by one: there is no batch step\n";
  return notes.empty() ? out : out + "\nnotes:\n" + notes;
}

nlohmann::ordered_json ExplainJson(const v1::PipelineDef& def, const Graph& graph) {
  nlohmann::ordered_json steps = nlohmann::ordered_json::array();
  for (const Node& node : graph.nodes()) steps.push_back(Json(node));
  nlohmann::ordered_json segments = nlohmann::ordered_json::array();
  for (const Segment& segment : graph.segments()) {
    nlohmann::ordered_json labels = nlohmann::ordered_json::array();
    for (size_t i = segment.begin; i < segment.end; ++i) labels.push_back(graph.nodes()[i].Label());
    segments.push_back(std::move(labels));
  }
  const v1::Source& source = def.source();
  return {{"name", def.name()},
          {"seed", graph.seed()},
          {"fingerprint", graph.fingerprint()},
          {"source",
           {{"files", std::vector<std::string>(source.files().begin(), source.files().end())},
            {"format", source.format()},
            {"params", JsonValue(source.params())},
            {"location", source.location()},
            {"schema", Json(*graph.source_schema())},
            {"fingerprint", graph.source_fingerprint()}}},
          {"steps", std::move(steps)},
          {"segments", std::move(segments)},
          {"rewrites", graph.rewrites()},
          {"source_passes", graph.passes()},
          {"single_task", graph.needs_single_task()},
          {"shard_hint", graph.has_shard_hint()},
          {"batched", graph.batched()},
          {"schema", Json(*graph.output_schema())}};
}

}  // namespace headrace
