#include "orchestrator/loop/control_loop.h"

#include <algorithm>
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

absl::StatusOr<v1::ObserveFleetReply> ControlLoop::Ask(bool pipelines) {
  v1::ObserveFleetRequest request;
  request.set_orchestrator(uid_);
  request.set_pipelines(pipelines);
  orders_.Fill(request);
  for (const v1::FleetDecision& decision : timeline_.unsent()) *request.add_decided() = decision;
  absl::StatusOr<v1::ObserveFleetReply> reply =
      deps_.fleet->ObserveFleet(request, options_.call_timeout);
  if (reply.ok() && request.decided_size() > 0)
    timeline_.Sent(request.decided(request.decided_size() - 1).number());
  return reply;
}

absl::Status ControlLoop::Adopt() {
  v1::ObserveFleetRequest request;  // of nobody: it takes nothing back
  request.set_pipelines(true);
  HR_ASSIGN_OR_RETURN(const v1::ObserveFleetReply fleet,
                      deps_.fleet->ObserveFleet(request, options_.call_timeout));
  orders_.Adopt(fleet);
  cluster_ = fleet.cluster();
  return absl::OkStatus();
}

absl::Status ControlLoop::Poll() {
  absl::StatusOr<v1::ObserveFleetReply> fleet = v1::ObserveFleetReply();
  if (cluster_ == 0 && deps_.pipelines != nullptr) {
    if (absl::Status status = Adopt(); !status.ok()) fleet = std::move(status);
  }
  if (fleet.ok()) fleet = Ask(false);
  if (fleet.ok() && fleet->cluster() != cluster_) {
    // Other jobs have these numbers. What was told of them just now is taken back with the next
    // poll.
    if (cluster_ != 0) orders_ = {};
    cluster_ = fleet->cluster();
  }
  if (fleet.ok() && deps_.driver->known()) {
    if (absl::Status status = CutWindow(*fleet); !status.ok()) fleet = std::move(status);
  }
  if (!fleet.ok()) {
    failures_->Add();
    LogLimited(away_, LogLevel::kWarning, "the dispatcher does not answer, the fleet stays: {}",
               OneLine(fleet.status()));
    return fleet.status();
  }
  orders_.KeepOnly(*fleet);
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

absl::Status ControlLoop::CutWindow(const v1::ObserveFleetReply& fleet) {
  const bool as_wanted = ReadyWorkers(fleet) == deps_.driver->wanted();
  const bool before = std::exchange(as_wanted_, as_wanted);
  const bool became = as_wanted && !before;
  if (became || collector_.Seconds(fleet) == 0) {
    collector_.Begin(fleet);
    return absl::OkStatus();
  }
  collector_.Look(fleet);
  if (collector_.Seconds(fleet) < absl::ToDoubleSeconds(options_.window)) return absl::OkStatus();
  Observation seen;
  if (deps_.pipelines == nullptr) {
    seen = collector_.End(fleet, deps_.driver->wanted());
  } else {
    // Pipelines may be large: they are asked for once a window.
    HR_ASSIGN_OR_RETURN(const v1::ObserveFleetReply whole, Ask(true));
    seen = collector_.End(whole, deps_.driver->wanted());
    deps_.pipelines->Describe(whole, seen);
  }
  Show(seen);
  Decide(seen);
  return absl::OkStatus();
}

void ControlLoop::Decide(const Observation& seen) {
  const bool advice = !deps_.driver->scales();
  for (const std::unique_ptr<Policy>& policy : policies_) {
    for (const Decision& decision : policy->Decide(seen)) {
      const absl::Time now = deps_.clock->Now();
      timeline_.Add(decision, now, advice && decision.plan == nullptr);
      if (decision.plan != nullptr) {
        orders_.Take(*decision.plan, now);
        Show(seen, *decision.plan);
      }
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

void ControlLoop::Show(const Observation& seen, const CachePlan& plan) {
  const auto job = std::ranges::find(seen.jobs, plan.job, &JobObservation::job);
  if (job == seen.jobs.end()) return;
  const auto rate = [&](const char* what, double value) {
    deps_.metrics
        ->AddGauge("headrace_orchestrator_job_rows_per_second",
                   "records of the source, of jobs whose caches the orchestrator places: predicted "
                   "for where they are kept now, and last observed with it; 0: not yet",
                   {{"job", job->name}, {"rate", what}})
        ->Set(value);
  };
  rate("predicted", plan.predicted);
  rate("observed", plan.observed);
  const bool kept = plan.placement.has_value() && !plan.placement->none;
  deps_.metrics
      ->AddGauge("headrace_orchestrator_job_cache_ratio",
                 "of a job's rows, how many the orchestrator would have kept; 0: none",
                 {{"job", job->name}})
      ->Set(kept ? plan.placement->share : 0);
}

}  // namespace headrace::orchestrate
