// What was decided, when and why: a log line and a metric for each, and a kept list that goes to
// the dispatcher, where `headrace top` and `headrace explain --cluster` find it.
//
// A hold is kept when its reason is another one than before (numbers aside), so that a quiet
// cluster has a short timeline and an answer to "why not more?". Owned by the control loop, its
// thread's.
#pragma once

#include <deque>
#include <map>
#include <string>

#include "absl/time/time.h"
#include "common/metrics/metrics.h"
#include "headrace/v1/fleet.pb.h"
#include "orchestrator/decision/decision.h"

namespace headrace::orchestrate {

class Timeline {
 public:
  static constexpr size_t kKept = 200;

  explicit Timeline(Metrics& metrics) : metrics_(metrics) {}

  // `advice`: nobody carries it out.
  void Add(const Decision& decision, absl::Time now, bool advice = false);
  // Those that were not handed over yet, the oldest first.
  const std::deque<v1::FleetDecision>& unsent() const { return unsent_; }
  void Sent(uint64_t up_to);  // a number: it and those before

 private:
  struct Last {
    std::string kind = {};  // the action and the reason without its numbers
    absl::Time at = absl::InfinitePast();
  };
  Metrics& metrics_;
  uint64_t number_ = 0;
  std::map<std::string, Last> last_;  // by policy and subject
  std::deque<v1::FleetDecision> unsent_;
};

}  // namespace headrace::orchestrate
