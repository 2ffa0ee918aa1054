#include "dispatcher/service.h"

#include <algorithm>
#include <utility>

#include "common/logging/logging.h"
#include "common/status.h"
#include "dispatcher/background/duties.h"
#include "dispatcher/ops/observe_fleet.h"
#include "dispatcher/ops/ops.h"
#include "dispatcher/ops/quiet.h"
#include "dispatcher/ops/saved_states.h"
#include "rpc/leader_redirect.h"

namespace headrace {

DispatcherService::DispatcherService(const DispatcherConfig& config, Deps deps)
    : config_(config), deps_(deps) {}

absl::Status DispatcherService::Recover() {
  absl::MutexLock lock(&mutex_);
  const auto reload = [this](std::string_view chunk) {
    mutex_.AssertHeld();
    return state_.Reload(chunk);
  };
  const auto apply = [this](const v1::Event& event) {
    mutex_.AssertHeld();
    return state_.Apply(event);
  };
  HR_RETURN_IF_ERROR(deps_.journal->Replay({reload, apply}));
  if (state_.cluster() != 0 || deps_.new_cluster == 0) return absl::OkStatus();
  dispatch::Changes changes(state_, absl::ToUnixMillis(deps_.clock->Now()));
  v1::Event event;
  event.mutable_cluster_founded()->set_cluster(deps_.new_cluster);
  changes.Make(std::move(event));
  deps_.journal->Append(changes.Take());  // durable before the first answer
  return changes.status();
}

absl::Status DispatcherService::Compact() {
  absl::MutexLock one(&compaction_);
  std::unique_ptr<dispatch::Snapshot> snapshot;
  uint64_t position = 0;
  {
    absl::MutexLock lock(&mutex_);
    HR_RETURN_IF_ERROR(journal_failure_);
    position = deps_.journal->Append({});
    snapshot = state_.TakeSnapshot();
  }
  HR_RETURN_IF_ERROR(WaitDurable(position));
  return deps_.journal->Compact(position,
                                [&](std::string& chunk) { return snapshot->Next(chunk); });
}

void DispatcherService::CompactIfWorthwhile() {
  if (!deps_.journal->WantsCompaction()) return;
  const absl::Status status = Compact();
  if (!status.ok()) LogWarning("no snapshot was made, the journal grows: {}", OneLine(status));
}

template <typename Op>
auto DispatcherService::Run(Op&& op) -> decltype(op(std::declval<dispatch::OpContext&>())) {
  decltype(op(std::declval<dispatch::OpContext&>())) answer = absl::UnknownError("");
  uint64_t position = 0;
  {
    absl::MutexLock lock(&mutex_);
    HR_RETURN_IF_ERROR(journal_failure_);
    dispatch::Changes changes(state_, absl::ToUnixMillis(deps_.clock->Now()));
    dispatch::OpContext context{changes,   liveness_, telemetry_, stragglers_,
                                restores_, holdings_, config_,    deps_.clock->Steady()};
    answer = op(context);
    // What was applied before a bug stands, so it is kept too.
    std::vector<v1::Event> events = changes.Take();
    bool waits = !events.empty();
    if constexpr (requires { op.TellsNothing(*answer); }) {
      waits = waits || !answer.ok() || !op.TellsNothing(*answer);
    } else {
      waits = true;
    }
    if (waits) position = deps_.journal->Append(std::move(events));
    if (!changes.status().ok()) {
      LogError("dispatcher: an event does not fit the state: {}", OneLine(changes.status()));
      answer = Annotate(Internal("{}", OneLine(changes.status())), "dispatcher state");
    }
  }
  HR_RETURN_IF_ERROR(WaitDurable(position));
  return answer;
}

namespace {

// An op that may have nothing to tell.
template <typename Request, typename Reply>
struct Beat {
  absl::StatusOr<Reply> (*op)(dispatch::OpContext&, const Request&);
  const Request& request;

  absl::StatusOr<Reply> operator()(dispatch::OpContext& context) const {
    return op(context, request);
  }
  bool TellsNothing(const Reply& reply) const { return dispatch::TellsNothing(request, reply); }
};

}  // namespace

absl::Status DispatcherService::WaitDurable(uint64_t position) {
  const absl::Status durable = deps_.journal->WaitDurable(position);
  if (durable.ok()) return durable;
  absl::MutexLock lock(&mutex_);
  if (LeaderNamedBy(durable).has_value()) return journal_failure_ = durable;  // its term is over
  if (journal_failure_.ok()) {
    journal_failure_ =
        Unavailable("the dispatcher's journal failed, restart it: {}", OneLine(durable));
    LogError("{}", OneLine(journal_failure_));
  }
  return journal_failure_;
}

void DispatcherService::RunDuties() {
  const absl::StatusOr<bool> done =
      Run([this](dispatch::OpContext& context) -> absl::StatusOr<bool> {
        context.liveness.Awake(context.now,
                               std::min(config_.worker_timeout, config_.client_timeout) / 2);
        dispatch::RunDuties(context);
        if (deps_.metrics != nullptr) {
          deps_.metrics->Update(context.state(), context.telemetry, context.holdings);
        }
        return true;
      });
  (void)done;  // a failed journal was logged, and shows in health()
}

absl::StatusOr<v1::OpenJobReply> DispatcherService::OpenJob(const v1::OpenJobRequest& request) {
  HR_ASSIGN_OR_RETURN(std::optional<v1::OpenJobReply> known, Run([&](dispatch::OpContext& context) {
                        return dispatch::OpenKnownJob(context, request);
                      }));
  if (known.has_value()) return *std::move(known);
  const uint64_t target = request.options().target_split_bytes() != 0
                              ? request.options().target_split_bytes()
                              : static_cast<uint64_t>(config_.target_split.value);
  HR_ASSIGN_OR_RETURN(ResolvedPipeline resolved,
                      deps_.resolver->Resolve(request.pipeline(), target));
  dispatch::SplitPieces pieces = dispatch::PiecesOf(resolved.splits);
  resolved.splits = SplitList();
  return Run([&](dispatch::OpContext& context) {
    return dispatch::OpenResolvedJob(context, request, std::move(resolved), std::move(pieces));
  });
}

absl::StatusOr<v1::StartEpochReply> DispatcherService::StartEpoch(
    const v1::StartEpochRequest& request) {
  return Run([&](dispatch::OpContext& context) { return dispatch::StartEpoch(context, request); });
}

absl::StatusOr<v1::ClientBeatReply> DispatcherService::ClientBeat(
    const v1::ClientBeatRequest& request) {
  return Run(Beat<v1::ClientBeatRequest, v1::ClientBeatReply>{dispatch::ClientBeat, request});
}

absl::StatusOr<v1::CloseClientReply> DispatcherService::CloseClient(
    const v1::CloseClientRequest& request) {
  return Run([&](dispatch::OpContext& context) { return dispatch::CloseClient(context, request); });
}

absl::StatusOr<v1::RestoreJobReply> DispatcherService::RestoreJob(
    const v1::RestoreJobRequest& request) {
  HR_ASSIGN_OR_RETURN(auto states, dispatch::DecodeStates(request));
  return Run([&](dispatch::OpContext& context) {
    return dispatch::RestoreJob(context, request, std::move(states));
  });
}

absl::StatusOr<v1::ReleaseJobReply> DispatcherService::ReleaseJob(
    const v1::ReleaseJobRequest& request) {
  return Run([&](dispatch::OpContext& context) { return dispatch::ReleaseJob(context, request); });
}

absl::StatusOr<v1::RegisterWorkerReply> DispatcherService::RegisterWorker(
    const v1::RegisterWorkerRequest& request) {
  return Run(
      [&](dispatch::OpContext& context) { return dispatch::RegisterWorker(context, request); });
}

absl::StatusOr<v1::WorkerBeatReply> DispatcherService::WorkerBeat(
    const v1::WorkerBeatRequest& request) {
  return Run(Beat<v1::WorkerBeatRequest, v1::WorkerBeatReply>{dispatch::WorkerBeat, request});
}

absl::StatusOr<v1::LeaseSplitsReply> DispatcherService::LeaseSplits(
    const v1::LeaseSplitsRequest& request) {
  return Run([&](dispatch::OpContext& context) { return dispatch::LeaseSplits(context, request); });
}

absl::StatusOr<v1::ListJobsReply> DispatcherService::ListJobs(const v1::ListJobsRequest& request) {
  return Run([&](dispatch::OpContext& context) { return dispatch::ListJobs(context, request); });
}

absl::StatusOr<v1::ListWorkersReply> DispatcherService::ListWorkers(
    const v1::ListWorkersRequest& request) {
  return Run([&](dispatch::OpContext& context) { return dispatch::ListWorkers(context, request); });
}

absl::StatusOr<v1::CancelJobReply> DispatcherService::CancelJob(
    const v1::CancelJobRequest& request) {
  return Run([&](dispatch::OpContext& context) { return dispatch::CancelJob(context, request); });
}

absl::StatusOr<v1::DrainWorkerReply> DispatcherService::DrainWorker(
    const v1::DrainWorkerRequest& request) {
  return Run([&](dispatch::OpContext& context) { return dispatch::DrainWorker(context, request); });
}

absl::StatusOr<v1::ObserveFleetReply> DispatcherService::ObserveFleet(
    const v1::ObserveFleetRequest& request) {
  HR_RETURN_IF_ERROR(board_.Take(request));
  HR_ASSIGN_OR_RETURN(
      v1::ObserveFleetReply reply,
      Run([&](dispatch::OpContext& context) -> absl::StatusOr<v1::ObserveFleetReply> {
        return dispatch::ObserveFleet(context, request);
      }));
  board_.Fill(request.decisions(), reply);
  return reply;
}

absl::StatusOr<v1::ReportLoadReply> DispatcherService::ReportLoad(
    const v1::ReportLoadRequest& request) {
  {
    absl::MutexLock lock(&mutex_);
    const dispatch::Worker* worker = state_.workers().Find(WorkerId(request.worker()));
    // One that the dispatcher does not know registers anew with its next beat.
    if (worker == nullptr || worker->uid != request.worker_uid()) return v1::ReportLoadReply();
  }
  board_.Report(request);
  return v1::ReportLoadReply();
}

absl::Status DispatcherService::health() const {
  absl::MutexLock lock(&mutex_);
  return journal_failure_;
}

std::string DispatcherService::Dump() const {
  absl::MutexLock lock(&mutex_);
  return state_.Dump();
}

}  // namespace headrace
