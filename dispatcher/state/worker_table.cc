#include "dispatcher/state/worker_table.h"

#include "common/status.h"

namespace headrace::dispatch {

absl::Status WorkerTable::Register(const v1::WorkerRegistered& event) {
  if (by_uid_.contains(event.uid())) return AlreadyExists("worker uid {} is live", event.uid());
  if (by_address_.contains(event.address())) {
    return AlreadyExists("a worker at {} is live", event.address());
  }
  Worker worker;
  worker.id = WorkerId(event.worker());
  worker.uid = event.uid();
  worker.address = event.address();
  worker.transports.assign(event.transports().begin(), event.transports().end());
  worker.host = event.host();
  worker.cores = event.cores();
  worker.tags.assign(event.tags().begin(), event.tags().end());
  by_uid_[worker.uid] = worker.id;
  by_address_[worker.address] = worker.id;
  workers_[worker.id] = std::move(worker);
  return absl::OkStatus();
}

absl::Status WorkerTable::Drain(WorkerId id) {
  const auto it = workers_.find(id);
  if (it == workers_.end() || !it->second.live()) return NotFound("no live worker {}", id.value);
  it->second.state = WorkerState::kDraining;
  return absl::OkStatus();
}

absl::Status WorkerTable::Leave(WorkerId id, bool lost) {
  const auto it = workers_.find(id);
  if (it == workers_.end() || !it->second.live()) return NotFound("no live worker {}", id.value);
  it->second.state = lost ? WorkerState::kLost : WorkerState::kLeft;
  by_uid_.erase(it->second.uid);
  by_address_.erase(it->second.address);
  if (++gone_ > kKeptGone) {
    for (auto oldest = workers_.begin(); oldest != workers_.end(); ++oldest) {
      if (oldest->second.live()) continue;
      workers_.erase(oldest);
      --gone_;
      break;
    }
  }
  return absl::OkStatus();
}

void WorkerTable::Keep(const Worker& worker, v1::KeptWorker& kept) {
  v1::WorkerRegistered& registered = *kept.mutable_registered();
  registered.set_worker(worker.id.value);
  registered.set_uid(worker.uid);
  registered.set_address(worker.address);
  registered.mutable_transports()->Assign(worker.transports.begin(), worker.transports.end());
  registered.set_host(worker.host);
  registered.set_cores(worker.cores);
  registered.mutable_tags()->Assign(worker.tags.begin(), worker.tags.end());
  kept.set_state(static_cast<uint32_t>(worker.state));
}

absl::Status WorkerTable::Reload(const v1::KeptWorker& kept) {
  HR_RETURN_IF_ERROR(Register(kept.registered()));
  const WorkerId id(kept.registered().worker());
  switch (static_cast<WorkerState>(kept.state())) {
    case WorkerState::kReady:
      return absl::OkStatus();
    case WorkerState::kDraining:
      return Drain(id);
    case WorkerState::kLost:
      return Leave(id, /*lost=*/true);
    case WorkerState::kLeft:
      return Leave(id, /*lost=*/false);
  }
  return InvalidArgument("worker {} in state {}", id.value, kept.state());
}

const Worker* WorkerTable::Find(WorkerId id) const {
  const auto it = workers_.find(id);
  return it == workers_.end() ? nullptr : &it->second;
}

const Worker* WorkerTable::FindByUid(uint64_t uid) const {
  const auto it = by_uid_.find(uid);
  return it == by_uid_.end() ? nullptr : Find(it->second);
}

const Worker* WorkerTable::FindByAddress(const std::string& address) const {
  const auto it = by_address_.find(address);
  return it == by_address_.end() ? nullptr : Find(it->second);
}

std::vector<WorkerId> WorkerTable::Ready() const {
  std::vector<WorkerId> ready;
  for (const auto& [id, worker] : workers_) {
    if (worker.state == WorkerState::kReady) ready.push_back(id);
  }
  return ready;
}

}  // namespace headrace::dispatch
