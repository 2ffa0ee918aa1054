// The workers that ever registered: live ones, and the last few that left (a late beat of theirs
// gets the right answer). Part of State.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "common/ids.h"
#include "headrace/v1/journal.pb.h"

namespace headrace::dispatch {

enum class WorkerState { kReady, kDraining, kLost, kLeft };

struct Worker {
  WorkerId id;
  uint64_t uid = 0;
  std::string address;
  std::vector<std::string> transports;
  std::string host;
  uint32_t cores = 0;
  std::vector<std::string> tags;
  WorkerState state = WorkerState::kReady;

  bool live() const { return state == WorkerState::kReady || state == WorkerState::kDraining; }
};

class WorkerTable {
 public:
  static constexpr size_t kKeptGone = 1000;

  absl::Status Register(const v1::WorkerRegistered& event);
  absl::Status Drain(WorkerId id);
  absl::Status Leave(WorkerId id, bool lost);

  // For snapshots, in the order of all(). A restored table is as if its workers had just come, and
  // some of them gone.
  static void Keep(const Worker& worker, v1::KeptWorker& kept);
  absl::Status Reload(const v1::KeptWorker& kept);

  // Null for one that was never known or is long gone.
  const Worker* Find(WorkerId id) const;
  // Live ones only.
  const Worker* FindByUid(uint64_t uid) const;
  const Worker* FindByAddress(const std::string& address) const;
  const std::map<WorkerId, Worker>& all() const { return workers_; }
  size_t live() const { return by_uid_.size(); }
  // Live and not draining.
  std::vector<WorkerId> Ready() const;

 private:
  std::map<WorkerId, Worker> workers_;
  absl::flat_hash_map<uint64_t, WorkerId> by_uid_;
  absl::flat_hash_map<std::string, WorkerId> by_address_;
  size_t gone_ = 0;
};

}  // namespace headrace::dispatch
