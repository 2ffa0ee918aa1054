// Pipelines with take or skip: all splits, in order, to one task. When it is lost, the next one
// replays from the first split, once every client has confirmed the fence.
#include "dispatcher/sharding/policy.h"

namespace headrace::dispatch {
namespace {

class SingleTaskPolicy final : public ShardingPolicy {
 public:
  std::string_view name() const override { return "single_task"; }
  std::vector<v1::LaneDef> Lanes(const JobData&, uint32_t) const override {
    return {v1::LaneDef()};
  }
  std::vector<Placement> Place(const Epoch& epoch,
                               std::span<const Candidate> workers) const override {
    if (!epoch.fences().empty()) return {};
    return PlaceOnFreeLanes(epoch, workers);
  }
};

}  // namespace

std::unique_ptr<ShardingPolicy> MakeSingleTaskPolicy() {
  return std::make_unique<SingleTaskPolicy>();
}

}  // namespace headrace::dispatch
