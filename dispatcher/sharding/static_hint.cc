// STATIC hint: the pipeline's `shard` step keeps one record in n; every slot reads all splits and
// settles what the step drops.
#include "common/status.h"
#include "dispatcher/sharding/policy.h"

namespace headrace::dispatch {
namespace {

class StaticHintPolicy final : public ShardingPolicy {
 public:
  std::string_view name() const override { return "static_hint"; }
  absl::Status Check(const JobData& dataset) const override {
    if (dataset.shard_hint) return absl::OkStatus();
    return InvalidArgument(
        "sharding static_hint needs a 'shard' step in the pipeline, at the point where it is cut");
  }
  std::vector<v1::LaneDef> Lanes(const JobData&, uint32_t slots) const override {
    std::vector<v1::LaneDef> lanes(slots);
    for (uint32_t slot = 0; slot < slots; ++slot) {
      lanes[slot].set_slot(slot);
      lanes[slot].set_slots(slots);
      lanes[slot].set_by_record(true);
    }
    return lanes;
  }
  std::vector<Placement> Place(const Epoch& epoch,
                               std::span<const Candidate> workers) const override {
    return PlaceOnFreeLanes(epoch, workers);
  }
};

}  // namespace

std::unique_ptr<ShardingPolicy> MakeStaticHintPolicy() {
  return std::make_unique<StaticHintPolicy>();
}

}  // namespace headrace::dispatch
