// What one op or duty changes: each event is applied to State as it is made, so that the code that
// makes the next one sees its effect; the service then hands them all to the journal, and answers
// when they are durable. One per call, under the service's mutex.
//
// State runs ahead of the journal by the calls that wait for it. No answer leaves before the
// journal has all that the answer could have seen; if the journal fails, the dispatcher stops
// (service.h), so nobody ever saw what was lost.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "dispatcher/state/state.h"

namespace headrace::dispatch {

class Changes {
 public:
  Changes(State& state, int64_t now_unix_ms) : state_(state), now_unix_ms_(now_unix_ms) {}

  void Make(v1::Event event) {
    event.set_at_unix_ms(now_unix_ms_);
    if (absl::Status status = state_.Apply(event); !status.ok()) {
      if (status_.ok()) status_ = std::move(status);
      return;
    }
    events_.push_back(std::move(event));
  }

  const State& state() const { return state_; }
  // Not OK: an op made an event that State refused, a bug. What was applied before it stands.
  const absl::Status& status() const { return status_; }
  std::vector<v1::Event> Take() { return std::exchange(events_, {}); }

 private:
  State& state_;
  const int64_t now_unix_ms_;
  std::vector<v1::Event> events_;
  absl::Status status_;
};

}  // namespace headrace::dispatch
