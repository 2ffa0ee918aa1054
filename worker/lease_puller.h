// When a task asks for leases, under which number, and what an answer means. Thread-free logic: the
// task's owner calls it under its lock and does the RPC itself; the simulation drives it as it is.
//
// One request is out at a time. A request whose answer was lost is sent again under its old number
// and gets its old answer (LeaseSplits is idempotent by number), so no lease is ever granted
// unseen. One that is told to wait goes out again in a while, too.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "headrace/v1/dispatcher.pb.h"

namespace headrace {

class LeasePuller {
 public:
  LeasePuller(uint64_t worker, uint64_t task) : worker_(worker), task_(task) {}

  // The request to send now, or nothing: one is out, nothing is wanted, the lane is exhausted, or
  // we back off. `wanted`: how many more splits the task could take. Where it says `tells_cached`
  // the caller adds the splits that the caches have.
  std::optional<v1::LeaseSplitsRequest> Next(uint32_t wanted, absl::Duration now);

  struct Answer {
    std::vector<v1::Lease> leases;
    bool flush = false;  // the lane is exhausted for now: let go of what steps hold
    bool gone = false;   // the dispatcher does not know the task: drop it
  };
  // The reply to the request that is out. A reply to an older one (`request_number` differs) is
  // ignored.
  Answer OnReply(uint64_t request_number, const v1::LeaseSplitsReply& reply, absl::Duration now);
  // The call failed or timed out: the same request goes out again after a back-off (50 ms doubling
  // to 2 s).
  void OnFailure(uint64_t request_number, absl::Duration now);
  // The dispatcher says that there may be splits again.
  void Wake() { exhausted_ = false; }

  bool exhausted() const { return exhausted_; }
  // A failed request waits for its next try.
  bool retrying() const { return unanswered_ && !in_flight_; }
  bool outstanding() const { return in_flight_; }

 private:
  const uint64_t worker_;
  const uint64_t task_;
  uint64_t number_ = 0;  // of the request that is out or was last answered
  uint32_t want_ = 0;
  bool in_flight_ = false;
  bool unanswered_ = false;  // number_ has no answer yet
  bool exhausted_ = false;
  bool tells_ = true;  // what is cached: at first, and when asked
  absl::Duration retry_at_ = absl::ZeroDuration();
  absl::Duration backoff_ = absl::Milliseconds(50);
};

}  // namespace headrace
