// Which pipeline prefixes are at work, so that eviction spares their entries: over a shuffled epoch
// every split is read once, and to throw out one of them for another of them (as LRU does) only
// makes both miss. Shared by all tiers; thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/clock.h"

namespace headrace {

class PrefixUse : public std::enable_shared_from_this<PrefixUse> {
 public:
  // A prefix stays protected for so long after its last user: between two epochs there is none.
  static constexpr absl::Duration kLinger = absl::Seconds(60);

  explicit PrefixUse(const Clock& clock) : clock_(clock) {}

  // In use while the answer lives.
  std::shared_ptr<void> Acquire(const std::string& prefix) {
    {
      absl::MutexLock lock(&mutex_);
      ++users_[prefix].count;
    }
    return {this, [self = shared_from_this(), prefix](void*) { self->Release(prefix); }};
  }

  bool Protects(const std::string& prefix) const {
    absl::MutexLock lock(&mutex_);
    const auto it = users_.find(prefix);
    return it != users_.end() && (it->second.count > 0 || clock_.Steady() < it->second.until);
  }

 private:
  struct Users {
    size_t count = 0;
    absl::Duration until = absl::ZeroDuration();
  };

  void Release(const std::string& prefix) {
    absl::MutexLock lock(&mutex_);
    const absl::Duration now = clock_.Steady();
    Users& users = users_[prefix];
    if (--users.count == 0) users.until = now + kLinger;
    std::erase_if(users_, [now](const auto& entry) {
      return entry.second.count == 0 && entry.second.until < now;
    });
  }

  const Clock& clock_;
  mutable absl::Mutex mutex_;
  std::map<std::string, Users> users_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headrace
