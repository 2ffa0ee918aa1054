#include "orchestrator/drivers/process_driver.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "common/logging/logging.h"
#include "common/status.h"

namespace headrace::orchestrate {
namespace {

// After so long without a death the next one is not one of a series.
constexpr absl::Duration kCalm = absl::Minutes(2);

const v1::FleetWorker* FindByTag(const v1::ObserveFleetReply& fleet, const std::string& tag) {
  for (const v1::FleetWorker& worker : fleet.workers()) {
    if (std::ranges::count(worker.tags(), tag) != 0) return &worker;
  }
  return nullptr;
}

}  // namespace

ProcessDriver::ProcessDriver(const Options& options, Deps deps)
    : options_(options),
      deps_(std::move(deps)),
      prefix_(fmt::format("fleet-{}", ::getpid())),
      wanted_(options.workers),
      pause_(options.first_pause) {}

ProcessDriver::~ProcessDriver() { Stop(absl::Seconds(2)); }

size_t ProcessDriver::running() {
  return static_cast<size_t>(
      std::ranges::count_if(members_, [](const Member& member) { return !member.leaving(); }));
}

void ProcessDriver::Reap(absl::Duration now) {
  for (auto it = members_.begin(); it != members_.end();) {
    const std::optional<int> code = it->process.Ended();
    if (!code.has_value()) {
      ++it;
      continue;
    }
    if (!it->leaving()) {
      failure_ = fmt::format("worker process {} (pid {}) ended with exit code {}", it->tag,
                             it->process.pid(), *code);
      LogWarning("{}; it is replaced in {}", failure_, absl::FormatDuration(pause_));
      if (now - next_start_ > kCalm) pause_ = options_.first_pause;
      next_start_ = now + pause_;
      pause_ = std::min(2 * pause_, options_.last_pause);
    }
    it = members_.erase(it);
  }
}

absl::Status ProcessDriver::StartMissing(absl::Duration now) {
  while (running() < wanted_ && now >= next_start_) {
    const std::string tag = fmt::format("{}-{}", prefix_, ++started_);
    absl::StatusOr<ChildProcess> process = deps_.launch(tag);
    if (!process.ok()) {
      next_start_ = now + pause_;
      pause_ = std::min(2 * pause_, options_.last_pause);
      return Annotate(process.status(), "start a worker process");
    }
    members_.push_back({.tag = tag, .process = *std::move(process)});
  }
  return absl::OkStatus();
}

absl::Status ProcessDriver::Drain(Member& member, const v1::ObserveFleetReply& fleet,
                                  absl::Duration now) {
  if (!member.told) {
    const v1::FleetWorker* worker = FindByTag(fleet, member.tag);
    if (worker == nullptr) {  // not registered yet, or gone already: it has nothing to finish
      member.process.Signal(SIGTERM);
      member.told = member.terminated = true;
      return absl::OkStatus();
    }
    v1::DrainWorkerRequest request;
    request.set_worker(std::to_string(worker->worker()));
    const auto reply = deps_.dispatcher->DrainWorker(request, options_.call_timeout);
    if (!reply.ok() && !absl::IsNotFound(reply.status())) {
      return Annotate(reply.status(), fmt::format("drain worker {}", worker->worker()));
    }
    member.told = true;
  }
  const absl::Duration waited = now - member.drains_since;
  if (waited > options_.drain_timeout && !member.terminated) {
    LogWarning("worker process {} did not drain within {}: it is told to stop", member.tag,
               absl::FormatDuration(options_.drain_timeout));
    member.process.Signal(SIGTERM);
    member.terminated = true;
  } else if (member.terminated && waited > options_.drain_timeout + options_.kill_timeout) {
    member.process.Signal(SIGKILL);
  }
  return absl::OkStatus();
}

absl::Status ProcessDriver::SendAway(const v1::ObserveFleetReply& fleet, absl::Duration now) {
  // The youngest first: the others have more to lose.
  for (auto it = members_.rbegin(); it != members_.rend() && running() > wanted_; ++it) {
    if (!it->leaving()) it->drains_since = now;
  }
  absl::Status status;
  for (Member& member : members_) {
    if (member.leaving()) status.Update(Drain(member, fleet, now));
  }
  return status;
}

absl::Status ProcessDriver::Reconcile(const v1::ObserveFleetReply& fleet) {
  if (stopped_) return absl::OkStatus();
  const absl::Duration now = deps_.clock->Steady();
  Reap(now);
  absl::Status status = StartMissing(now);
  status.Update(SendAway(fleet, now));
  return status;
}

void ProcessDriver::Stop(absl::Duration timeout) {
  stopped_ = true;
  const absl::Duration deadline = RealClock().Steady() + timeout;
  for (Member& member : members_) member.process.Signal(SIGTERM);
  for (Member& member : members_) {
    member.process.WaitUntilEnded(std::max(absl::ZeroDuration(), deadline - RealClock().Steady()));
  }
  members_.clear();  // kills what is left
}

}  // namespace headrace::orchestrate
