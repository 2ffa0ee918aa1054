// STATIC by file: file i goes to slot i mod n.
#include "dispatcher/sharding/policy.h"

namespace headrace::dispatch {
namespace {

class StaticFilePolicy final : public ShardingPolicy {
 public:
  std::string_view name() const override { return "static_file"; }
  std::vector<v1::LaneDef> Lanes(const JobData&, uint32_t slots) const override {
    std::vector<v1::LaneDef> lanes(slots);
    for (uint32_t slot = 0; slot < slots; ++slot) {
      lanes[slot].set_slot(slot);
      lanes[slot].set_slots(slots);
      lanes[slot].set_by_file(true);
    }
    return lanes;
  }
  std::vector<Placement> Place(const Epoch& epoch,
                               std::span<const Candidate> workers) const override {
    return PlaceOnFreeLanes(epoch, workers);
  }
};

}  // namespace

std::unique_ptr<ShardingPolicy> MakeStaticFilePolicy() {
  return std::make_unique<StaticFilePolicy>();
}

}  // namespace headrace::dispatch
