// shard: where a pipeline with sharding policy `hint` divides its rows among the worker slots. Slot
// number and count are filled in by the task; without sharding every row passes.
#include <utility>

#include "pipeline/graph/op_registry.h"

namespace headrace {
namespace {

struct ShardParams {};

class Shard final : public StatelessOp {
 public:
  absl::StatusOr<Schema> Bind(const Schema& input) override { return input; }
  OpTraits traits() const override { return {.one_to_one = false}; }

  // Rows of other slots are dropped, not settled: they are not this task's to account for.
  // A row's slot is a function of its (first) record alone, so it does not depend on who reads it
  // and when. The split is added so that splits of one record each spread too.
  absl::Status Run(Block& block, const StepContext& context) const override {
    if (context.shards <= 1) return absl::OkStatus();
    for (size_t row = 0; row < block.rows(); ++row) {
      const Provenance& provenance = block.provenance(row);
      const uint64_t position = provenance.empty() ? 0 : provenance[0].first + provenance[0].split;
      if (position % context.shards != context.shard) block.Drop(row);
    }
    return absl::OkStatus();
  }
};

}  // namespace

void Register_shard(OpRegistry& registry) {
  registry.Add<ShardParams>(
      "shard", "Each worker slot keeps its share of the rows from here on (sharding: hint).",
      ParamSet<ShardParams>(),
      [](ShardParams) -> absl::StatusOr<std::unique_ptr<Op>> { return std::make_unique<Shard>(); });
}

}  // namespace headrace
