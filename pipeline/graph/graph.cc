#include "pipeline/graph/graph.h"

#include <algorithm>
#include <set>
#include <utility>

#include "common/status.h"
#include "pipeline/graph/fingerprint.h"

namespace headrace {
namespace {

const v1::Value* Find(const v1::ValueMap& params, std::string_view name) {
  for (const v1::NamedValue& entry : params.entries()) {
    if (entry.name() == name) return &entry.value();
  }
  return nullptr;
}

constexpr std::string_view kCache = "cache";
// Where rows are kept instead of where the pipeline says (passes/place_cache.h), and the step that
// then does not count. Pipelines as written have neither.
constexpr std::string_view kPlacedCache = "_placed_cache";
constexpr std::string_view kPassedCache = "_passed_cache";

// It changes nothing of what passes.
bool IsCache(std::string_view op) {
  return op == kCache || op == kPlacedCache || op == kPassedCache;
}

int64_t IntegerOf(const v1::ValueMap& params, std::string_view name) {
  const v1::Value* value = Find(params, name);
  return value != nullptr ? value->integer() : 0;
}

std::string TextOf(const v1::ValueMap& params, std::string_view name) {
  const v1::Value* value = Find(params, name);
  return value != nullptr ? value->text() : std::string();
}

std::string StepWhere(const std::string& location, size_t written_index) {
  return fmt::format("{}{}step {}", location, location.empty() ? "" : ": ", written_index + 1);
}

std::string StepWhere(const std::string& location, size_t written_index, std::string_view op) {
  return fmt::format("{} '{}'", StepWhere(location, written_index), op);
}

absl::Status CheckFields(const Schema& schema) {
  std::set<std::string_view> seen;
  for (const Field& field : schema.fields()) {
    if (field.name.empty()) return InvalidArgument("a field of its output has no name");
    if (!seen.insert(field.name).second)
      return InvalidArgument("its output has two fields named '{}'", field.name);
  }
  return absl::OkStatus();
}

// Makes and binds the op of `planned`; everything of the node but seed and fingerprint.
absl::StatusOr<Node> MakeNode(const PlannedStep& planned, const OpSpec& spec, const Schema& input) {
  Node node;
  node.written_index = planned.written_index;
  node.op = spec.name;
  node.shown_as = planned.shown_as.empty() ? spec.name : planned.shown_as;
  node.location = planned.step.location();
  node.given = planned.step.params();
  HR_ASSIGN_OR_RETURN(node.params, CanonicalParams(spec.params, planned.step.params()));
  HR_ASSIGN_OR_RETURN(std::unique_ptr<Op> op, spec.make(planned.step.params()));
  HR_ASSIGN_OR_RETURN(Schema output, op->Bind(input));
  HR_RETURN_IF_ERROR(CheckFields(output));
  node.output = std::make_shared<const Schema>(std::move(output));
  node.traits = op->traits();
  node.stateless = dynamic_cast<const StatelessOp*>(op.get());
  node.stateful = dynamic_cast<const StatefulOp*>(op.get());
  node.async = dynamic_cast<const AsyncOp*>(op.get());
  if ((node.stateless != nullptr) + (node.stateful != nullptr) + (node.async != nullptr) != 1) {
    return Internal("its code is neither a stateless nor a stateful nor an asynchronous step");
  }
  node.code = std::move(op);
  return node;
}

std::string SourceFingerprint(const v1::Source& source, std::string_view dataset_version) {
  return Fingerprint()
      .Add("source")
      .Add(source.format())
      .Add(source.params())
      .Add(dataset_version)
      .Hex();
}

// The fingerprint of `node` after a stream with fingerprint `before`. A random step's draws hang on
// the seed and on its position, so these count too; for any other step the pipeline's seed changes
// nothing.
std::string NodeFingerprint(const std::string& before, const Node& node, int version) {
  Fingerprint out;
  out.Add(before).Add(node.op).Add(static_cast<uint64_t>(version)).Add(node.params);
  if (node.traits.random) out.Add("random").Add(node.seed).Add(uint64_t{node.draw_index});
  return out.Hex();
}

// A person may not write the steps that only the optimizer makes.
absl::Status CheckWritten(const v1::PipelineDef& def, const OpRegistry& ops) {
  for (int i = 0; i < def.steps_size(); ++i) {
    const v1::Step& step = def.steps(i);
    absl::StatusOr<const OpSpec*> spec = ops.Find(step.op());
    const std::string where = StepWhere(step.location(), static_cast<size_t>(i));
    if (!spec.ok()) return Annotate(spec.status(), where);
    if ((*spec)->internal) {
      return InvalidArgument("{}: '{}' is made by the optimizer, pipelines do not name it", where,
                             step.op());
    }
  }
  return absl::OkStatus();
}

// How many `cache` steps stand, as written, in front of a written position.
size_t CachesBefore(const Plan& plan, size_t written_index) {
  return static_cast<size_t>(
      std::count_if(plan.steps.begin(), plan.steps.end(), [&](const PlannedStep& planned) {
        const std::string& op = planned.step.op();
        return (op == kCache || op == kPassedCache) && planned.written_index < written_index;
      }));
}

absl::StatusOr<std::string> WrittenFingerprint(const v1::PipelineDef& def, const OpRegistry& ops) {
  Fingerprint whole;
  whole.Add("pipeline").Add(SourceFingerprint(def.source(), {})).Add(def.seed());
  for (const v1::Step& step : def.steps()) {
    HR_ASSIGN_OR_RETURN(const OpSpec* spec, ops.Find(step.op()));
    HR_ASSIGN_OR_RETURN(const v1::ValueMap params, CanonicalParams(spec->params, step.params()));
    if (step.op() == kCache) {
      // Where rows are kept is no matter of what they are; that draws are frozen is.
      if (IntegerOf(params, "variants") > 0)
        whole.Add(step.op()).Add(static_cast<uint64_t>(IntegerOf(params, "variants")));
      continue;
    }
    whole.Add(step.op()).Add(static_cast<uint64_t>(spec->version)).Add(params);
  }
  return whole.Hex();
}

}  // namespace

Plan PlanOf(const v1::PipelineDef& def) {
  Plan plan;
  for (int i = 0; i < def.steps_size(); ++i)
    plan.steps.push_back({def.steps(i), static_cast<size_t>(i)});
  return plan;
}

std::string Node::Where() const { return StepWhere(location, written_index, shown_as); }

std::string Node::Label() const { return fmt::format("{}:{}", written_index + 1, shown_as); }

absl::StatusOr<Graph> Graph::Build(const v1::PipelineDef& def, const Schema& source_schema,
                                   const OpRegistry& ops, std::string_view dataset_version) {
  return BuildPlanned(def, PlanOf(def), source_schema, ops, dataset_version);
}

absl::StatusOr<Graph> Graph::BuildPlanned(const v1::PipelineDef& def, const Plan& plan,
                                          const Schema& source_schema, const OpRegistry& ops,
                                          std::string_view dataset_version) {
  Graph graph;
  graph.seed_ = def.seed();
  graph.source_schema_ = std::make_shared<const Schema>(source_schema);
  graph.source_fingerprint_ = SourceFingerprint(def.source(), dataset_version);
  graph.prefix_ =
      Fingerprint().Add(SourceFingerprint(def.source(), {})).Add(source_schema.ToString()).Hex();
  graph.rewrites_ = plan.rewrites;
  HR_RETURN_IF_ERROR(CheckWritten(def, ops));
  HR_RETURN_IF_ERROR(graph.AddNodes(plan, ops));
  HR_ASSIGN_OR_RETURN(graph.fingerprint_, WrittenFingerprint(def, ops));
  return graph;
}

absl::Status Graph::AddNodes(const Plan& plan, const OpRegistry& ops) {
  SchemaPtr schema = source_schema_;
  const std::string* before = &source_fingerprint_;
  nodes_.reserve(plan.steps.size());  // `before` points into it
  for (const PlannedStep& planned : plan.steps) {
    const std::string where =
        StepWhere(planned.step.location(), planned.written_index,
                  planned.shown_as.empty() ? planned.step.op() : planned.shown_as);
    absl::StatusOr<const OpSpec*> spec = ops.Find(planned.step.op());
    if (!spec.ok()) {
      return Annotate(spec.status(), StepWhere(planned.step.location(), planned.written_index));
    }
    absl::StatusOr<Node> made = MakeNode(planned, **spec, *schema);
    if (!made.ok()) return Annotate(made.status(), where);
    Node& node = nodes_.emplace_back(*std::move(made));
    const v1::Value* own_seed = Find(node.params, "seed");
    const bool has_own = own_seed != nullptr && own_seed->kind_case() == v1::Value::kInteger;
    node.seed = has_own ? static_cast<uint64_t>(own_seed->integer()) : seed_;
    node.draw_index = node.written_index - CachesBefore(plan, node.written_index);
    if (IsCache(node.op)) {
      node.fingerprint = *before;
    } else {
      node.fingerprint = NodeFingerprint(*before, node, (*spec)->version);
      prefix_ = NodeFingerprint(prefix_, node, (*spec)->version);
    }
    node.batches_in = batched_;
    if (absl::Status s = Note(node); !s.ok()) return Annotate(s, where);
    // Frozen draws make other records of it; else a cache changes nothing.
    if (node.op == kCache && cache_->variants > 0)
      node.fingerprint = Fingerprint().Add(*before).Add(kCache).Add(cache_->variants).Hex();
    before = &node.fingerprint;
    schema = node.output;
  }
  return absl::OkStatus();
}

// What the node means for the whole graph, and where it may not stand.
absl::Status Graph::Note(const Node& node) {
  if (node.op == "repeat") {
    if (repeats_) return InvalidArgument("the pipeline repeats already; multiply the counts");
    if (batched_ || needs_single_task_) {
      return InvalidArgument("repeat comes before batch, padded_batch, take and skip: move it up");
    }
    const v1::Value* count = Find(node.params, "count");
    if (count == nullptr || count->kind_case() != v1::Value::kInteger || count->integer() < 1) {
      return InvalidArgument("count: expected an integer of at least 1");
    }
    repeats_ = true;
    passes_ = static_cast<uint64_t>(count->integer());
  }
  if (node.traits.cuts_records) {
    if (cuts_) return InvalidArgument("an earlier step cuts records into parts already; cut once");
    if (batched_) return InvalidArgument("it cuts records, not batches: move it before batch");
    cuts_ = true;
  }
  if (node.op == "shard") has_shard_hint_ = true;
  if (node.op == kCache || node.op == kPlacedCache) HR_RETURN_IF_ERROR(NoteCache(node));
  needs_single_task_ = needs_single_task_ || node.traits.global_order;
  batched_ = batched_ || node.traits.emits_batches;
  return absl::OkStatus();
}

// Kept rows must be a function of their record alone, and each split's of that split alone.
absl::Status Graph::NoteCache(const Node& node) {
  if (cache_) return InvalidArgument("the pipeline has a cache already; one is enough");
  CachePoint point{.node = nodes_.size() - 1,
                   .tier = TextOf(node.params, "tier"),
                   .variants = static_cast<uint64_t>(IntegerOf(node.params, "variants")),
                   .fingerprint = {}};
  const std::string key = TextOf(node.params, "key");
  bool random = false;
  for (size_t i = 0; i < point.node; ++i) {
    const Node& before = nodes_[i];
    const std::string where =
        fmt::format("step {} '{}'", before.written_index + 1, before.shown_as);
    if (before.stateful != nullptr || before.op == "shard") {
      return InvalidArgument(
          "{} in front of it makes rows of several splits depend on each other: "
          "move cache in front of it",
          where);
    }
    if (before.traits.cuts_records) {
      return InvalidArgument("{} in front of it cuts records into parts: move cache in front of it",
                             where);
    }
    random = random || before.traits.random;
    if (before.traits.random && point.variants == 0) {
      return InvalidArgument(
          "{} in front of it draws random numbers, and a cache would repeat them "
          "in every epoch: move cache in front of it, or say `variants: N` to "
          "have N draws that take turns",
          where);
    }
    const bool imported = before.async != nullptr && TextOf(before.params, "pickled").empty();
    if (imported && key.empty()) {
      return InvalidArgument(
          "the code of {} can change where the pipeline does not: say `key: v1`, "
          "and another word whenever it has changed",
          where);
    }
  }
  if (!random) point.variants = 0;
  point.fingerprint = Fingerprint().Add("cache").Add(prefix_).Add(key).Hex();
  cache_ = std::move(point);
  return absl::OkStatus();
}

std::vector<Segment> Graph::segments() const {
  std::vector<Segment> out;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const bool chains = nodes_[i].stateless != nullptr;
    if (!chains || out.empty() || nodes_[out.back().begin].stateless == nullptr) {
      out.push_back({nodes_[i].stateful != nullptr, i, i + 1});
    } else {
      out.back().end = i + 1;
    }
  }
  return out;
}

}  // namespace headrace
