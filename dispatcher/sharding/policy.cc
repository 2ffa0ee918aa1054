#include "dispatcher/sharding/policy.h"

#include <algorithm>

namespace headrace::dispatch {

absl::Status ShardingPolicy::Check(const JobData&) const { return absl::OkStatus(); }

std::unique_ptr<ShardingPolicy> MakePolicy(v1::Sharding sharding, const JobData& dataset) {
  if (dataset.ordered.has_value()) return MakeOrderedPolicy();
  if (dataset.single_task) return MakeSingleTaskPolicy();
  switch (sharding) {
    case v1::SHARDING_OFF:
      return MakeOffPolicy();
    case v1::SHARDING_STATIC_FILE:
      return MakeStaticFilePolicy();
    case v1::SHARDING_STATIC_DATA:
      return MakeStaticDataPolicy();
    case v1::SHARDING_STATIC_FILE_OR_DATA:
      return MakeStaticFileOrDataPolicy();
    case v1::SHARDING_STATIC_HINT:
      return MakeStaticHintPolicy();
    default:
      return MakeDynamicPolicy();
  }
}

std::string_view ShardingName(v1::Sharding sharding) {
  switch (sharding) {
    case v1::SHARDING_OFF:
      return "off";
    case v1::SHARDING_STATIC_FILE:
      return "static_file";
    case v1::SHARDING_STATIC_DATA:
      return "static_data";
    case v1::SHARDING_STATIC_FILE_OR_DATA:
      return "static_file_or_data";
    case v1::SHARDING_STATIC_HINT:
      return "static_hint";
    default:
      return "dynamic";
  }
}

std::vector<Placement> PlaceOnFreeLanes(const Epoch& epoch, std::span<const Candidate> workers) {
  std::vector<Placement> placements;
  if (workers.empty()) return placements;
  std::vector<Candidate> loads(workers.begin(), workers.end());
  for (uint32_t i = 0; i < epoch.lanes().size(); ++i) {
    const Lane& lane = epoch.lanes()[i];
    if (lane.task || lane.Done()) continue;
    // The first of the least loaded, so that slot i goes to worker i as long as nobody comes or
    // goes.
    auto least = std::ranges::min_element(loads, {}, &Candidate::tasks);
    placements.push_back({least->worker, i});
    ++least->tasks;
  }
  return placements;
}

}  // namespace headrace::dispatch
