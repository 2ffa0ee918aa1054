// Who was heard of when, by the dispatcher's steady clock. Not part of State: after a restart
// everybody counts as just heard of. Guarded by the service's mutex.
#pragma once

#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "common/ids.h"

namespace headrace::dispatch {

class Liveness {
 public:
  void Saw(WorkerId id, absl::Duration now) { workers_[id] = now; }
  void Saw(ClientId id, absl::Duration now) { clients_[id] = now; }
  // How long it has been silent. One never heard of before counts from now on.
  absl::Duration Silence(WorkerId id, absl::Duration now) {
    return now - workers_.try_emplace(id, now).first->second;
  }
  absl::Duration Silence(ClientId id, absl::Duration now) {
    return now - clients_.try_emplace(id, now).first->second;
  }
  // How long a job has been without clients.
  absl::Duration Idle(JobId id, bool idle, absl::Duration now) {
    if (!idle) {
      jobs_.erase(id);
      return absl::ZeroDuration();
    }
    return now - jobs_.try_emplace(id, now).first->second;
  }
  // Called with every round of duties. After more than `longest_pause` without one the dispatcher
  // itself stood still (stopped, or its machine slept), and who seems silent may have spoken in
  // vain: everybody counts as just heard of, as after a restart.
  void Awake(absl::Duration now, absl::Duration longest_pause) {
    if (awake_.has_value() && now - *awake_ > longest_pause) {
      workers_.clear();
      clients_.clear();
      jobs_.clear();
    }
    awake_ = now;
  }
  void Forget(WorkerId id) { workers_.erase(id); }
  void Forget(ClientId id) { clients_.erase(id); }
  void Forget(JobId id) { jobs_.erase(id); }

 private:
  absl::flat_hash_map<WorkerId, absl::Duration> workers_;
  absl::flat_hash_map<ClientId, absl::Duration> clients_;
  absl::flat_hash_map<JobId, absl::Duration> jobs_;
  std::optional<absl::Duration> awake_;
};

}  // namespace headrace::dispatch
