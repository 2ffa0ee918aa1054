// The tasks on this worker, by id. The Worker owns it; thread-safe. Hosts are shared so that a loop
// may hold one while another removes it; the last holder's destructor stops it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "worker/task_host.h"

namespace headrace {

class TaskTable {
 public:
  void Add(std::shared_ptr<TaskHost> host) {
    absl::MutexLock lock(&mutex_);
    hosts_[host->id()] = std::move(host);
  }
  // Null when there is none.
  std::shared_ptr<TaskHost> Find(uint64_t task) const {
    absl::MutexLock lock(&mutex_);
    auto it = hosts_.find(task);
    return it == hosts_.end() ? nullptr : it->second;
  }
  // Takes the task out; the caller's reference is the table's own.
  std::shared_ptr<TaskHost> Remove(uint64_t task) {
    absl::MutexLock lock(&mutex_);
    auto it = hosts_.find(task);
    if (it == hosts_.end()) return nullptr;
    std::shared_ptr<TaskHost> host = std::move(it->second);
    hosts_.erase(it);
    return host;
  }
  std::vector<std::shared_ptr<TaskHost>> All() const {
    absl::MutexLock lock(&mutex_);
    std::vector<std::shared_ptr<TaskHost>> out;
    for (const auto& [id, host] : hosts_) out.push_back(host);
    return out;
  }
  std::vector<std::shared_ptr<TaskHost>> Clear() {
    std::vector<std::shared_ptr<TaskHost>> out = All();
    absl::MutexLock lock(&mutex_);
    hosts_.clear();
    return out;
  }

 private:
  mutable absl::Mutex mutex_;
  std::map<uint64_t, std::shared_ptr<TaskHost>> hosts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headrace
