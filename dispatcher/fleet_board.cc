#include "dispatcher/fleet_board.h"

#include <utility>

#include "common/status.h"

namespace headrace {

void FleetBoard::Report(const v1::ReportLoadRequest& request) {
  absl::MutexLock lock(&mutex_);
  loads_[request.worker()] = request.load();
}

absl::Status FleetBoard::Take(const v1::ObserveFleetRequest& request) {
  if (request.decided_size() > static_cast<int>(kKeptDecisions)) {
    return InvalidArgument("{} decisions in one message; at most {}", request.decided_size(),
                           kKeptDecisions);
  }
  if (request.decided().empty()) return absl::OkStatus();
  absl::MutexLock lock(&mutex_);
  if (orchestrator_ != request.orchestrator()) last_ = 0;
  orchestrator_ = request.orchestrator();
  for (const v1::FleetDecision& decision : request.decided()) {
    if (decision.number() <= last_) continue;
    last_ = decision.number();
    decisions_.push_back(decision);
    if (decisions_.size() > kKeptDecisions) decisions_.pop_front();
  }
  return absl::OkStatus();
}

void FleetBoard::Fill(bool decisions, v1::ObserveFleetReply& reply) {
  absl::MutexLock lock(&mutex_);
  std::map<uint64_t, v1::WorkerLoad> live;
  for (v1::FleetWorker& worker : *reply.mutable_workers()) {
    const auto load = loads_.find(worker.worker());
    if (load == loads_.end()) continue;
    *worker.mutable_load() = load->second;
    live.insert(loads_.extract(load));
  }
  loads_ = std::move(live);
  if (!decisions) return;
  for (const v1::FleetDecision& decision : decisions_) *reply.add_decisions() = decision;
}

}  // namespace headrace
