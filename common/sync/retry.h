// Does something again while its error may pass. The first retry is logged, so that a slow start
// explains itself; the caller reports the last error if there is one.
#pragma once

#include <functional>
#include <string_view>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/backoff.h"
#include "common/clock.h"
#include "common/logging/logging.h"
#include "common/status.h"
#include "common/sync/cancellation.h"

namespace headrace {

struct RetryOptions {
  std::string_view what;  // for the log: "list s3://bucket/train"
  BackoffPolicy backoff = {};
  uint64_t seed = 0;                                // of the jitter: differs from caller to caller
  absl::Duration give_up_after = absl::Minutes(1);  // counted from the first try
  const Clock& clock = RealClock();
  // Waits and says whether to stop trying. Default: cancel.Wait.
  std::function<bool(absl::Duration)> wait = {};
};

namespace retry_internal {
inline const absl::Status& StatusOf(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& answer) {
  return answer.status();
}
}  // namespace retry_internal

// Calls op() (-> absl::Status or absl::StatusOr<T>) until it succeeds, fails for good (see
// IsTransient), is cancelled, or the next wait would end after `give_up_after`. Returns op's last
// answer. op is called at least once.
template <typename Op>
auto RetryTransient(const RetryOptions& options, const CancellationToken& cancel, Op&& op)
    -> std::invoke_result_t<Op> {
  const absl::Duration deadline = options.clock.Steady() + options.give_up_after;
  Backoff backoff(options.backoff, options.seed);
  for (bool first = true;; first = false) {
    auto answer = op();
    const absl::Status& status = retry_internal::StatusOf(answer);
    if (status.ok() || !IsTransient(status)) return answer;
    const absl::Duration wait = backoff.Next();
    if (options.clock.Steady() + wait > deadline) return answer;
    if (first) {
      LogWarning("{}: {}; trying again for {}", options.what, OneLine(status),
                 absl::FormatDuration(options.give_up_after));
    }
    if (options.wait ? options.wait(wait) : cancel.Wait(wait)) return answer;
  }
}

}  // namespace headrace
