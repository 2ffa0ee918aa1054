#include "pipeline/ordering/ordering.h"

#include <algorithm>
#include <string_view>

#include "common/status.h"

namespace headrace {
namespace {

// The lanes of an epoch hold so many shuffle buffers together, however many they are.
constexpr int64_t kSharedBuffers = 4;

const v1::Value* Find(const v1::ValueMap& params, std::string_view name) {
  for (const v1::NamedValue& entry : params.entries()) {
    if (entry.name() == name) return &entry.value();
  }
  return nullptr;
}

v1::Value* Find(v1::ValueMap& params, std::string_view name) {
  for (v1::NamedValue& entry : *params.mutable_entries()) {
    if (entry.name() == name) return entry.mutable_value();
  }
  return nullptr;
}

double NumberOf(const v1::Value* value) {
  if (value == nullptr) return 0;
  return value->kind_case() == v1::Value::kInteger ? static_cast<double>(value->integer())
                                                   : value->number();
}

// Steps that only choose and name fields: padding passes them as it is.
bool KeepsValues(std::string_view op) { return op == "select" || op == "drop" || op == "rename"; }

absl::Status CheckBehindBatch(const Node& node, bool padded) {
  if (node.stateful != nullptr || !node.traits.one_to_one) {
    return InvalidArgument(
        "{}: with ordering deterministic nothing behind the batching step may count, drop or "
        "reorder batches; move it in front of that step",
        node.Where());
  }
  if (padded && !KeepsValues(node.op)) {
    return InvalidArgument(
        "{}: with ordering deterministic a batch may be padded anew where two windows meet, so "
        "behind padded_batch there is room for select, drop and rename only; move it in front of "
        "padded_batch",
        node.Where());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::OrderedPlan> OrderedPlanOf(const v1::PipelineDef& def, const Graph& graph) {
  const Node* batching = nullptr;
  v1::OrderedPlan plan;
  for (const Node& node : graph.nodes()) {
    if (node.op == "shuffle") plan.set_shuffled(true);
    if (batching != nullptr) HR_RETURN_IF_ERROR(CheckBehindBatch(node, plan.padded()));
    if (!node.traits.emits_batches) continue;
    batching = &node;
    const v1::Value* size = Find(node.params, "size");
    if (size == nullptr || size->integer() < 1) {
      return InvalidArgument("{}: ordering deterministic does not know how many rows it batches",
                             node.Where());
    }
    plan.set_batch_rows(static_cast<uint64_t>(size->integer()));
    const v1::Value* drop = Find(node.params, "drop_remainder");
    plan.set_drop_remainder(drop != nullptr && drop->boolean());
    plan.set_padded(node.op == "padded_batch");
    if (plan.padded()) plan.set_pad_value(NumberOf(Find(node.params, "pad_value")));
  }
  if (batching == nullptr) {
    return InvalidArgument(
        "ordering deterministic orders batches: add a 'batch' or 'padded_batch' step whose size is "
        "the global batch, that of all ranks together");
  }
  plan.set_seed(def.seed());
  return plan;
}

v1::PipelineDef LaneForm(const v1::PipelineDef& def, uint32_t lanes) {
  v1::PipelineDef form = def;
  const int64_t n = std::max(1u, lanes);
  for (v1::Step& step : *form.mutable_steps()) {
    if (v1::Value* drop = Find(*step.mutable_params(), "drop_remainder")) drop->set_boolean(false);
    if (step.op() != "shuffle") continue;
    if (v1::Value* buffer = Find(*step.mutable_params(), "buffer")) {
      const int64_t share = (buffer->integer() + n - 1) / n;
      buffer->set_integer(std::min(buffer->integer(), kSharedBuffers * share));
    }
  }
  return form;
}

}  // namespace headrace
