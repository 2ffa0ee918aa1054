// Ordering deterministic: a fixed number of lanes, each a list of windows of splits, each drawn
// from by one task. Which worker runs a lane changes nothing of what it makes, so a lane may move:
// to where fewer run, when workers come.
#include <algorithm>
#include <map>
#include <set>

#include "common/status.h"
#include "dispatcher/sharding/policy.h"

namespace headrace::dispatch {
namespace {

// What a lost worker costs is a window of each of its lanes; what a window costs is a batch that
// is joined at its end.
constexpr uint64_t kWindowBytes = 64ull << 20;
constexpr uint32_t kDefaultLanes = 16;

class OrderedPolicy final : public ShardingPolicy {
 public:
  std::string_view name() const override { return "ordered"; }
  std::vector<v1::LaneDef> Lanes(const JobData& dataset, uint32_t) const override {
    const uint64_t splits = std::max<uint64_t>(1, dataset.splits.size());
    const uint32_t asked = dataset.ordered_lanes == 0 ? kDefaultLanes : dataset.ordered_lanes;
    const uint32_t lanes =
        dataset.single_task ? 1 : static_cast<uint32_t>(std::min<uint64_t>(asked, splits));
    const uint64_t window_bytes =
        dataset.ordered_window_bytes == 0 ? kWindowBytes : dataset.ordered_window_bytes;
    const uint64_t bytes = dataset.splits.data_bytes();
    // Counting steps need the lane from its start: one window.
    const uint64_t window =
        dataset.single_task
            ? 0
            : std::clamp<uint64_t>(window_bytes / std::max<uint64_t>(1, bytes / splits), 1,
                                   (splits + lanes - 1) / lanes);
    std::vector<v1::LaneDef> out(lanes);
    for (uint32_t lane = 0; lane < lanes; ++lane) {
      v1::OrderedLaneDef& def = *out[lane].mutable_ordered();
      def.set_lane(lane);
      def.set_lanes(lanes);
      def.set_window(window);
      def.set_shuffled(dataset.ordered->shuffled());
      def.set_seed(dataset.ordered->seed());
    }
    return out;
  }
  std::vector<Placement> Place(const Epoch& epoch,
                               std::span<const Candidate> workers) const override {
    return PlaceOnFreeLanes(epoch, workers);
  }
};

}  // namespace

std::unique_ptr<ShardingPolicy> MakeOrderedPolicy() { return std::make_unique<OrderedPolicy>(); }

std::vector<TaskId> LanesToMove(const Epoch& epoch, std::span<const Candidate> workers) {
  std::map<WorkerId, size_t> loads;
  for (const Candidate& candidate : workers) loads[candidate.worker] = candidate.tasks;
  std::set<TaskId> moved;
  while (loads.size() > 1) {
    const auto by_load = [](const auto& a, const auto& b) { return a.second < b.second; };
    const auto least = std::ranges::min_element(loads, by_load);
    const auto most = std::ranges::max_element(loads, by_load);
    if (most->second < least->second + 2) break;
    const std::vector<TaskId> tasks = epoch.ActiveTasksOf(most->first);
    const auto next =
        std::ranges::find_if(tasks, [&](TaskId task) { return !moved.contains(task); });
    if (next == tasks.end()) break;
    moved.insert(*next);
    --most->second;
    ++least->second;
  }
  return {moved.begin(), moved.end()};
}

}  // namespace headrace::dispatch
