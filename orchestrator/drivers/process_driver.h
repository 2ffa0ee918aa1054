// The driver `process`: workers are child processes of this one, on this machine. `headrace up
// --workers auto`, and small clusters of one host.
//
// A worker that is too many is drained through the dispatcher: it gets no new splits, finishes what
// it has, and its process ends by itself; when that takes longer than drain_timeout it gets
// SIGTERM, which loses nothing either (its records are given out again), and SIGKILL in the end.
// One that ends by itself is replaced, with pauses that grow while it keeps ending. Children die
// with this process.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/process/child_process.h"
#include "orchestrator/drivers/scaling_driver.h"
#include "rpc/dispatcher_client.h"

namespace headrace::orchestrate {

class ProcessDriver final : public ScalingDriver {
 public:
  struct Options {
    size_t workers = 1;  // at first
    absl::Duration drain_timeout = absl::Minutes(2);
    absl::Duration kill_timeout = absl::Seconds(5);  // after SIGTERM
    absl::Duration call_timeout = absl::Seconds(2);
    absl::Duration first_pause = absl::Milliseconds(500);  // before a worker that died is replaced
    absl::Duration last_pause = absl::Seconds(30);
  };
  struct Deps {
    // Starts a worker that registers with the tag `tag`.
    std::function<absl::StatusOr<ChildProcess>(const std::string& tag)> launch;
    OperatorCalls* dispatcher = nullptr;  // these outlive the driver
    const Clock* clock = nullptr;
  };
  ProcessDriver(const Options& options, Deps deps);
  // Stop(2 s).
  ~ProcessDriver() override;

  std::string_view name() const override { return "process"; }
  size_t wanted() const override { return wanted_; }
  void SetWorkers(size_t workers) override { wanted_ = workers; }
  absl::Status Reconcile(const v1::ObserveFleetReply& fleet) override;

  // SIGTERM to all, SIGKILL to those that are left after `timeout`.
  void Stop(absl::Duration timeout) override;

  size_t running();  // that are not on their way out
  // How the last one that ended by itself did; "" when none has.
  const std::string& failure() const { return failure_; }

 private:
  struct Member {
    std::string tag = {};
    ChildProcess process;
    absl::Duration drains_since = absl::InfiniteDuration();  // steady; told to leave
    bool told = false;                                       // the dispatcher knows
    bool terminated = false;
    bool leaving() const { return drains_since != absl::InfiniteDuration(); }
  };
  void Reap(absl::Duration now);
  absl::Status StartMissing(absl::Duration now);
  absl::Status SendAway(const v1::ObserveFleetReply& fleet, absl::Duration now);
  absl::Status Drain(Member& member, const v1::ObserveFleetReply& fleet, absl::Duration now);

  const Options options_;
  const Deps deps_;
  const std::string prefix_;  // of tags: of this process
  size_t wanted_;
  bool stopped_ = false;
  uint64_t started_ = 0;
  std::list<Member> members_;  // the oldest first
  std::string failure_;
  absl::Duration next_start_ = -absl::InfiniteDuration();
  absl::Duration pause_;
};

}  // namespace headrace::orchestrate
