// Virtual time: closures run in the order of their times (ties in the order they were scheduled),
// on one thread. The fake clock follows.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "common/fake_clock.h"

namespace headrace::sim {

class Scheduler {
 public:
  const FakeClock& clock() const { return clock_; }
  absl::Duration now() const { return clock_.Steady(); }

  void After(absl::Duration delay, std::function<void()> run) {
    queue_.push({now() + delay, next_++, std::move(run)});
  }
  // False when nothing is left to do.
  bool RunOne() {
    if (queue_.empty()) return false;
    Entry entry = std::move(const_cast<Entry&>(queue_.top()));
    queue_.pop();
    if (entry.at > now()) clock_.Advance(entry.at - now());
    entry.run();
    return true;
  }

 private:
  struct Entry {
    absl::Duration at;
    uint64_t number;
    std::function<void()> run;
    bool operator<(const Entry& other) const {
      return at != other.at ? at > other.at : number > other.number;
    }
  };
  FakeClock clock_;
  std::priority_queue<Entry> queue_;
  uint64_t next_ = 0;
};

}  // namespace headrace::sim
