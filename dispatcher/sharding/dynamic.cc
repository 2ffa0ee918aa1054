// DYNAMIC: splits are leased on demand, first come first served, from one lane that all workers
// share.
#include "dispatcher/sharding/policy.h"

namespace headrace::dispatch {
namespace {

class DynamicPolicy final : public ShardingPolicy {
 public:
  std::string_view name() const override { return "dynamic"; }
  std::vector<v1::LaneDef> Lanes(const JobData&, uint32_t) const override {
    v1::LaneDef lane;
    lane.set_shared(true);
    return {lane};
  }
  std::vector<Placement> Place(const Epoch&, std::span<const Candidate> workers) const override {
    std::vector<Placement> placements;
    for (const Candidate& candidate : workers) {
      if (candidate.tasks == 0) placements.push_back({candidate.worker, 0});
    }
    return placements;
  }
};

}  // namespace

std::unique_ptr<ShardingPolicy> MakeDynamicPolicy() { return std::make_unique<DynamicPolicy>(); }

}  // namespace headrace::dispatch
