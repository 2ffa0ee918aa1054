// OFF: every worker delivers the whole dataset, from a lane of its own. A worker that comes takes
// over the unfinished lane of one that went, if there is one.
#include "dispatcher/sharding/policy.h"

namespace headrace::dispatch {
namespace {

class OffPolicy final : public ShardingPolicy {
 public:
  std::string_view name() const override { return "off"; }
  std::vector<v1::LaneDef> Lanes(const JobData&, uint32_t) const override {
    return {v1::LaneDef()};
  }
  bool lane_per_worker() const override { return true; }
  std::vector<Placement> Place(const Epoch& epoch,
                               std::span<const Candidate> workers) const override {
    std::vector<uint32_t> free;
    for (uint32_t i = 0; i < epoch.lanes().size(); ++i) {
      if (!epoch.lanes()[i].task && !epoch.lanes()[i].Done()) free.push_back(i);
    }
    std::vector<Placement> placements;
    size_t used = 0;
    uint32_t next = static_cast<uint32_t>(epoch.lanes().size());
    for (const Candidate& candidate : workers) {
      if (candidate.tasks != 0) continue;
      placements.push_back({candidate.worker, used < free.size() ? free[used++] : next++});
    }
    return placements;
  }
};

}  // namespace

std::unique_ptr<ShardingPolicy> MakeOffPolicy() { return std::make_unique<OffPolicy>(); }

}  // namespace headrace::dispatch
