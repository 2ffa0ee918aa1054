#include "orchestrator/loop/control_loop.h"

#include <utility>

#include "common/status.h"

namespace headrace::orchestrate {

ControlLoop::ControlLoop(const Options& options, Deps deps,
                         std::vector<std::unique_ptr<Policy>> policies, uint64_t uid)
    : options_(options),
      deps_(deps),
      policies_(std::move(policies)),
      uid_(uid),
      timeline_(*deps.metrics),
      wanted_(deps.metrics->AddGauge("headrace_orchestrator_workers_wanted",
                                     "workers that the driver was told to have")),
      ready_(deps.metrics->AddGauge("headrace_orchestrator_workers_ready",
                                    "workers that are registered and do not drain")),
      failures_(deps.metrics->AddCounter("headrace_orchestrator_failed_polls_total",
                                         "rounds in which the dispatcher did not answer or the "
                                         "driver could not do its work")) {}

absl::StatusOr<v1::ObserveFleetReply> ControlLoop::Ask() {
  v1::ObserveFleetRequest request;
  request.set_orchestrator(uid_);
  for (const v1::FleetDecision& decision : timeline_.unsent()) *request.add_decided() = decision;
  absl::StatusOr<v1::ObserveFleetReply> reply =
      deps_.fleet->ObserveFleet(request, options_.call_timeout);
  if (reply.ok() && request.decided_size() > 0)
    timeline_.Sent(request.decided(request.decided_size() - 1).number());
  return reply;
}

absl::Status ControlLoop::Poll() {
  const absl::StatusOr<v1::ObserveFleetReply> fleet = Ask();
  if (!fleet.ok()) {
    failures_->Add();
    LogLimited(away_, LogLevel::kWarning, "the dispatcher does not answer, the fleet stays: {}",
               OneLine(fleet.status()));
    return fleet.status();
  }
  if (deps_.driver->known()) CutWindow(*fleet);
  const absl::Status driven = deps_.driver->Reconcile(*fleet);
  if (!driven.ok()) {
    failures_->Add();
    LogLimited(trouble_, LogLevel::kWarning, "driver {}: {}", deps_.driver->name(),
               OneLine(driven));
  }
  wanted_->Set(static_cast<double>(deps_.driver->wanted()));
  ready_->Set(static_cast<double>(ReadyWorkers(*fleet)));
  return driven;
}

void ControlLoop::CutWindow(const v1::ObserveFleetReply& fleet) {
  const bool as_wanted = ReadyWorkers(fleet) == deps_.driver->wanted();
  const bool before = std::exchange(as_wanted_, as_wanted);
  const bool became = as_wanted && !before;
  if (became || collector_.Seconds(fleet) == 0) return collector_.Begin(fleet);
  collector_.Look(fleet);
  if (collector_.Seconds(fleet) < absl::ToDoubleSeconds(options_.window)) return;
  const Observation seen = collector_.End(fleet, deps_.driver->wanted());
  Show(seen);
  Decide(seen);
}

void ControlLoop::Decide(const Observation& seen) {
  const bool advice = !deps_.driver->scales();
  for (const std::unique_ptr<Policy>& policy : policies_) {
    for (const Decision& decision : policy->Decide(seen)) {
      timeline_.Add(decision, deps_.clock->Now(), advice);
      if (decision.action.verb != Verb::kSetWorkers || advice) continue;
      deps_.driver->SetWorkers(static_cast<size_t>(decision.action.amount));
      as_wanted_ = seen.ready() == deps_.driver->wanted();
    }
  }
}

void ControlLoop::Show(const Observation& seen) {
  for (const JobObservation& job : seen.jobs) {
    const auto stall = [&](const char* what, double value) {
      deps_.metrics
          ->AddGauge("headrace_orchestrator_job_stall_ratio",
                     "of a job's trainers' time in the last window, how much they waited: for "
                     "batches in the making (prepare), for finished ones on their way (fetch)",
                     {{"job", job.name}, {"for", what}})
          ->Set(value);
    };
    stall("prepare", job.prepare_stall);
    stall("fetch", job.fetch_stall);
  }
}

}  // namespace headrace::orchestrate
