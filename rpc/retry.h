// Tries a call again while its error may pass. The caller says how long it is willing to wait in
// all, and hands in how to sleep, so that shutdown can cut the wait short and tests need no time.
#pragma once

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/time/time.h"
#include "common/clock.h"
#include "common/status.h"

namespace headrace {

struct RetryPolicy {
  absl::Duration first_wait = absl::Milliseconds(50);
  absl::Duration longest_wait = absl::Seconds(2);
  double growth = 2.0;
  // Each wait is drawn from [1 - jitter, 1] of its length: clients of a restarted dispatcher must
  // not come all at once.
  double jitter = 0.5;
};

struct RetryTools {
  const Clock& clock;
  // Waits; false: give up now (shutdown). Bounded by its argument.
  std::function<bool(absl::Duration)> sleep;
  // Uniform in [0, 1).
  std::function<double()> random;
};

// Calls `call()` (-> absl::Status or absl::StatusOr<T>) until it succeeds, fails for good, or the
// next wait would end after `give_up_after`. Returns the last answer. `call` is made at least once.
template <typename Call>
auto WithRetries(const RetryPolicy& policy, const RetryTools& tools, absl::Duration give_up_after,
                 Call&& call) {
  const absl::Duration deadline = tools.clock.Steady() + give_up_after;
  absl::Duration wait = policy.first_wait;
  while (true) {
    auto answer = call();
    absl::Status status;
    if constexpr (std::is_same_v<decltype(answer), absl::Status>) {
      status = answer;
    } else {
      status = answer.status();
    }
    if (status.ok() || !IsTransient(status)) return answer;
    const absl::Duration drawn = wait * (1.0 - policy.jitter * tools.random());
    if (tools.clock.Steady() + drawn > deadline || !tools.sleep(drawn)) return answer;
    wait = std::min(wait * policy.growth, policy.longest_wait);
  }
}

}  // namespace headrace
