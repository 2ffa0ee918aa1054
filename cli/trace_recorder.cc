#include "cli/trace_recorder.h"

#include <utility>

#include "common/status.h"
#include "orchestrator/observation/observation_json.h"

namespace headrace {
namespace {

constexpr absl::Duration kBetweenLooks = absl::Milliseconds(200);
constexpr absl::Duration kCallTimeout = absl::Seconds(2);

size_t Ready(const v1::ObserveFleetReply& fleet) {
  size_t ready = 0;
  for (const v1::FleetWorker& worker : fleet.workers()) ready += worker.state() == "ready";
  return ready;
}

}  // namespace

TraceRecorder::TraceRecorder(const std::string& path, std::unique_ptr<FleetCalls> calls,
                             absl::Duration window)
    : path_(path),
      calls_(std::move(calls)),
      window_(absl::ToDoubleSeconds(window)),
      file_(path, std::ios::trunc),
      thread_("hr-record", kBetweenLooks, [this] { Poll(); }) {}

absl::StatusOr<std::unique_ptr<TraceRecorder>> TraceRecorder::Start(
    const std::string& path, std::unique_ptr<FleetCalls> calls, absl::Duration window) {
  std::unique_ptr<TraceRecorder> recorder(new TraceRecorder(path, std::move(calls), window));
  {
    absl::MutexLock lock(&recorder->mutex_);
    if (!recorder->file_) return Unavailable("write {}: it cannot be opened", path);
  }
  recorder->thread_.TriggerNow();
  return recorder;
}

void TraceRecorder::Poll() {
  const auto fleet = calls_->ObserveFleet({}, kCallTimeout);
  if (!fleet.ok()) return;
  absl::MutexLock lock(&mutex_);
  if (collector_.Seconds(*fleet) == 0) return collector_.Begin(*fleet);
  collector_.Look(*fleet);
  if (collector_.Seconds(*fleet) >= window_) Write(*fleet);
}

void TraceRecorder::Write(const v1::ObserveFleetReply& fleet) {
  // Nobody here knows what a driver was told: those that are there were wanted.
  file_ << orchestrate::ToJsonLine(collector_.End(fleet, Ready(fleet))) << "\n";
  ++windows_;
}

absl::Status TraceRecorder::Finish() {
  thread_.Stop();
  const auto fleet = calls_->ObserveFleet({}, kCallTimeout);
  absl::MutexLock lock(&mutex_);
  if (fleet.ok() && collector_.Seconds(*fleet) > (windows_ == 0 ? 0 : window_ / 2)) Write(*fleet);
  file_.close();
  if (!file_) return Unavailable("write {}: it could not be written to its end", path_);
  if (windows_ == 0) {
    return Unavailable("write {}: nothing was seen of the cluster ({})", path_,
                       fleet.ok() ? "the run was too short" : OneLine(fleet.status()));
  }
  return absl::OkStatus();
}

}  // namespace headrace
