// Which worker reads what. A sharding policy is one file of this folder: it says which lanes an
// epoch has and who draws from which. Policies are stateless and pure; their answers go into
// events, so a replay needs none of them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "dispatcher/state/epoch.h"
#include "dispatcher/state/job_data.h"

namespace headrace::dispatch {

// A worker that may be given tasks.
struct Candidate {
  WorkerId worker;
  size_t tasks = 0;  // active ones of this epoch
};

struct Placement {
  WorkerId worker;
  uint32_t lane = 0;
};

class ShardingPolicy {
 public:
  virtual ~ShardingPolicy() = default;
  // As options and messages name it: "static_file".
  virtual std::string_view name() const = 0;
  // INVALID_ARGUMENT when the pipeline cannot be sharded so.
  virtual absl::Status Check(const JobData& dataset) const;
  // The lanes that an epoch starts with; at least one. `slots` >= 1.
  virtual std::vector<v1::LaneDef> Lanes(const JobData& dataset, uint32_t slots) const = 0;
  // OFF: every worker gets a lane of its own, all alike.
  virtual bool lane_per_worker() const { return false; }
  // The tasks to add now, given the active ones; workers in the order of their ids.
  virtual std::vector<Placement> Place(const Epoch& epoch,
                                       std::span<const Candidate> workers) const = 0;
};

std::unique_ptr<ShardingPolicy> MakeDynamicPolicy();
std::unique_ptr<ShardingPolicy> MakeOffPolicy();
std::unique_ptr<ShardingPolicy> MakeStaticFilePolicy();
std::unique_ptr<ShardingPolicy> MakeStaticDataPolicy();
std::unique_ptr<ShardingPolicy> MakeStaticFileOrDataPolicy();
std::unique_ptr<ShardingPolicy> MakeStaticHintPolicy();
// Pipelines that count rows over the epoch, whatever the job asks for: one task at a time.
std::unique_ptr<ShardingPolicy> MakeSingleTaskPolicy();
// Ordering deterministic, whatever the pipeline counts.
std::unique_ptr<ShardingPolicy> MakeOrderedPolicy();
// Tasks of an ordered epoch to take from workers that have at least two more than another, when
// every lane has one.
std::vector<TaskId> LanesToMove(const Epoch& epoch, std::span<const Candidate> workers);

// The policy of a job over `dataset`.
std::unique_ptr<ShardingPolicy> MakePolicy(v1::Sharding sharding, const JobData& dataset);
// "dynamic" for SHARDING_DYNAMIC and SHARDING_UNSPECIFIED, ...
std::string_view ShardingName(v1::Sharding sharding);

// For STATIC policies: each free lane that is not done goes to the worker with the fewest tasks.
std::vector<Placement> PlaceOnFreeLanes(const Epoch& epoch, std::span<const Candidate> workers);

}  // namespace headrace::dispatch
