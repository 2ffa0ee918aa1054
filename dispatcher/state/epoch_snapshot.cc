// Epochs in snapshots and in words: apart from epoch.cc, since nothing here is a rule. Whatever is
// added to an Epoch, a Task, a Lane, a SplitLedger, a Lease or a FenceRound is added here, too.
#include <algorithm>
#include <utility>

#include "common/status.h"
#include "dispatcher/state/epoch.h"
#include "dispatcher/state/snapshot.h"

namespace headrace::dispatch {
namespace {

constexpr int kLedgersOfPart = 256;
constexpr int kLeasesOfPart = 8192;

template <typename Ids>
void AddIds(const Ids& from, google::protobuf::RepeatedField<uint64_t>* to) {
  for (const auto id : from) to->Add(id.value);
}

v1::StatePart PartOf(const Task& task) {
  v1::StatePart part;
  v1::KeptTask& kept = *part.mutable_task();
  kept.set_task(task.id.value);
  kept.set_worker(task.worker.value);
  kept.set_lane(task.lane);
  kept.set_replay(task.replay);
  kept.set_fenced(task.fenced);
  kept.set_last_request(task.last_request);
  AddIds(task.last_answer, kept.mutable_last_answer());
  kept.set_exhausted(task.exhausted);
  return part;
}

v1::StatePart PartOf(const FenceRound& round) {
  v1::StatePart part;
  v1::KeptFence& kept = *part.mutable_fence();
  AddIds(round.tasks, kept.mutable_tasks());
  for (const auto& [client, tasks] : round.awaited) {
    v1::KeptAwaited& awaited = *kept.add_awaited();
    awaited.set_client(client.value);
    AddIds(tasks, awaited.mutable_tasks());
  }
  kept.set_cause(round.cause);
  kept.set_give_up(round.give_up);
  kept.set_reason(round.reason);
  return part;
}

}  // namespace

void EpochCounts::Keep(v1::KeptCounts& kept) const {
  kept.set_delivered(delivered);
  kept.set_settled(settled);
  kept.set_failed(failed);
  kept.set_given_up(given_up);
  kept.set_retired(retired);
  kept.set_restored(restored);
  kept.set_skipped(skipped);
  kept.set_dropped(dropped);
  kept.set_padded(padded);
  kept.set_pieces(pieces);
}

void EpochCounts::Reload(const v1::KeptCounts& kept) {
  delivered = kept.delivered();
  settled = kept.settled();
  failed = kept.failed();
  given_up = kept.given_up();
  retired = kept.retired();
  restored = kept.restored();
  skipped = kept.skipped();
  dropped = kept.dropped();
  padded = kept.padded();
  pieces = kept.pieces();
}

void Epoch::Keep(Snapshot& snapshot) const {
  v1::StatePart part;
  v1::KeptEpoch& kept = *part.mutable_epoch();
  kept.mutable_started()->set_epoch(number_);
  kept.mutable_started()->set_lane_per_worker(lane_per_worker_);
  for (const Lane& lane : lanes_) *kept.mutable_started()->add_lanes() = lane.def();
  AddIds(readers_, kept.mutable_readers());
  for (const auto& [worker, strikes] : strikes_) {
    kept.add_strikes()->set_worker(worker.value);
    kept.mutable_strikes(kept.strikes_size() - 1)->set_strikes(strikes);
  }
  kept.set_task_errors(task_errors_);
  kept.set_tasks_version(tasks_version_);
  counts_.Keep(*kept.mutable_counts());
  kept.mutable_failures()->Assign(failures_.begin(), failures_.end());
  kept.set_restored(restored_);
  kept.set_steps_granted(steps_granted_);
  kept.set_steps_final(steps_final_);
  kept.set_rebalanced(rebalanced_);
  kept.set_reader_left(reader_left_);
  kept.set_cuts_records(cuts_records_);
  kept.mutable_reported_ranks()->Assign(reported_ranks_.begin(), reported_ranks_.end());
  for (const auto& [rank, windows] : passed_) {
    v1::KeptPassed& passed = *kept.add_passed();
    passed.set_rank(rank);
    passed.mutable_windows()->Assign(windows.begin(), windows.end());
  }
  for (const auto& [client, needs] : needs_) {
    v1::KeptNeeds& kept_needs = *kept.add_needs();
    kept_needs.set_client(client.value);
    kept_needs.set_first(needs.first);
    for (const SplitNeed& need : needs.list) {
      kept_needs.add_splits(need.item.split);
      kept_needs.add_passes(need.item.pass);
      kept_needs.add_needs(need.need);
    }
  }
  snapshot.Add(std::move(part));
  for (const auto& [id, task] : tasks_) snapshot.Add(PartOf(task));
  KeepLanes(snapshot);
  KeepLeases(snapshot);
  for (const FenceRound& round : fences_) snapshot.Add(PartOf(round));
}

void Epoch::KeepLanes(Snapshot& snapshot) const {
  for (uint32_t i = 0; i < lanes_.size(); ++i) {
    v1::StatePart part;
    lanes_[i].Keep(*part.mutable_lane());
    part.mutable_lane()->set_lane(i);
    snapshot.Add(std::move(part));
    v1::StatePart ledgers;
    lanes_[i].KeepLedgers([&](v1::KeptLedger ledger) {
      ledgers.mutable_ledgers()->set_lane(i);
      *ledgers.mutable_ledgers()->add_ledgers() = std::move(ledger);
      if (ledgers.ledgers().ledgers_size() == kLedgersOfPart) {
        snapshot.Add(std::exchange(ledgers, {}));
      }
    });
    if (ledgers.has_ledgers()) snapshot.Add(std::move(ledgers));
  }
}

void Epoch::KeepLeases(Snapshot& snapshot) const {
  std::vector<const Lease*> leases;
  leases.reserve(leases_.size());
  for (const auto& [number, lease] : leases_.all()) leases.push_back(&lease);
  std::ranges::sort(leases, {}, [](const Lease* lease) { return lease->number; });
  v1::StatePart part;
  for (const Lease* lease : leases) {
    v1::KeptLeases& kept = *part.mutable_leases();
    kept.add_numbers(lease->number.value);
    kept.add_tasks(lease->task.value);
    kept.add_lanes(lease->lane);
    kept.add_splits(lease->item.split);
    kept.add_passes(lease->item.pass);
    kept.add_read_to_end(lease->read_to_end);
    kept.add_positions(lease->position);
    kept.add_first_records(lease->item.first);
    kept.add_end_records(lease->item.end);
    if (kept.numbers_size() == kLeasesOfPart) snapshot.Add(std::exchange(part, {}));
  }
  if (part.has_leases()) snapshot.Add(std::move(part));
}

absl::Status Epoch::Reload(const v1::StatePart& part) {
  switch (part.kind_case()) {
    case v1::StatePart::kEpoch:
      ReloadEpoch(part.epoch());
      return absl::OkStatus();
    case v1::StatePart::kTask:
      if (part.task().lane() >= lanes_.size()) break;
      ReloadTask(part.task());
      return absl::OkStatus();
    case v1::StatePart::kLane:
      if (part.lane().lane() >= lanes_.size()) break;
      return lanes_[part.lane().lane()].Reload(part.lane());
    case v1::StatePart::kLedgers:
      if (part.ledgers().lane() >= lanes_.size()) break;
      for (const v1::KeptLedger& ledger : part.ledgers().ledgers()) {
        HR_RETURN_IF_ERROR(lanes_[part.ledgers().lane()].ReloadLedger(ledger));
      }
      return absl::OkStatus();
    case v1::StatePart::kLeases:
      return ReloadLeases(part.leases());
    case v1::StatePart::kFence:
      ReloadFence(part.fence());
      return absl::OkStatus();
    default:
      break;
  }
  return InvalidArgument("epoch {}: a part {} that does not fit it", number_,
                         static_cast<int>(part.kind_case()));
}

void Epoch::ReloadEpoch(const v1::KeptEpoch& kept) {
  for (const uint64_t reader : kept.readers()) readers_.insert(ClientId(reader));
  for (const v1::KeptStrikes& strikes : kept.strikes()) {
    strikes_[WorkerId(strikes.worker())] = strikes.strikes();
  }
  task_errors_ = kept.task_errors();
  tasks_version_ = kept.tasks_version();
  counts_.Reload(kept.counts());
  failures_.assign(kept.failures().begin(), kept.failures().end());
  restored_ = kept.restored();
  steps_granted_ = kept.steps_granted();
  steps_final_ = kept.steps_final();
  rebalanced_ = kept.rebalanced();
  reader_left_ = kept.reader_left();
  cuts_records_ = kept.cuts_records();
  reported_ranks_.insert(kept.reported_ranks().begin(), kept.reported_ranks().end());
  for (const v1::KeptPassed& passed : kept.passed()) {
    passed_[passed.rank()].assign(passed.windows().begin(), passed.windows().end());
    passed_[passed.rank()].resize(lanes_.size());
  }
  // The lanes are reloaded after this, and have dropped by then what all are past.
  for (size_t lane = 0; ordered() && lane < lanes_.size(); ++lane) {
    lanes_[lane].Pass(PassedByAll(lane));
  }
  for (const v1::KeptNeeds& client : kept.needs()) {
    Needs& needs = needs_[ClientId(client.client())];
    needs.first = client.first();
    for (int i = 0; i < client.needs_size(); ++i) {
      needs.list.push_back({{client.splits(i), client.passes(i)}, client.needs(i)});
    }
  }
}

void Epoch::ReloadTask(const v1::KeptTask& kept) {
  Task task;
  task.id = TaskId(kept.task());
  task.worker = WorkerId(kept.worker());
  task.lane = kept.lane();
  task.replay = kept.replay();
  task.fenced = kept.fenced();
  task.last_request = kept.last_request();
  for (const uint64_t number : kept.last_answer()) task.last_answer.emplace_back(number);
  task.exhausted = kept.exhausted();
  if (!task.fenced) {
    active_of_[task.worker].insert(task.id);
    ++active_tasks_;
  }
  const TaskId id = task.id;
  tasks_[id] = std::move(task);
}

absl::Status Epoch::ReloadLeases(const v1::KeptLeases& kept) {
  const int count = kept.numbers_size();
  const bool pieces = kept.first_records_size() != 0;  // no: by a dispatcher that knew none
  if (kept.tasks_size() != count || kept.lanes_size() != count || kept.splits_size() != count ||
      kept.passes_size() != count || kept.read_to_end_size() != count ||
      kept.positions_size() != count || (kept.first_records_size() != count && pieces) ||
      kept.end_records_size() != kept.first_records_size()) {
    return InvalidArgument("epoch {}: columns of leases that do not fit together", number_);
  }
  for (int i = 0; i < count; ++i) {
    const LeaseNumber number(kept.numbers(i));
    const auto task = tasks_.find(TaskId(kept.tasks(i)));
    if (task == tasks_.end() || kept.lanes(i) >= lanes_.size()) {
      return InvalidArgument("epoch {}: lease {} of no task", number_, number.value);
    }
    Piece item{{kept.splits(i), kept.passes(i)}};
    if (pieces) {
      item.first = kept.first_records(i);
      item.end = kept.end_records(i);
    }
    lanes_[kept.lanes(i)].ReloadLeased(item);
    leases_.Add({number, task->first, kept.lanes(i), item, false, kept.positions(i)});
    if (kept.read_to_end(i)) leases_.MarkReadToEnd(*leases_.Find(number));
    task->second.leases.insert(number);
  }
  return absl::OkStatus();
}

void Epoch::ReloadFence(const v1::KeptFence& kept) {
  FenceRound round;
  for (const uint64_t task : kept.tasks()) round.tasks.insert(TaskId(task));
  for (const v1::KeptAwaited& awaited : kept.awaited()) {
    std::set<TaskId>& tasks = round.awaited[ClientId(awaited.client())];
    for (const uint64_t task : awaited.tasks()) tasks.insert(TaskId(task));
  }
  round.cause = kept.cause();
  round.give_up = kept.give_up();
  round.reason = kept.reason();
  fences_.push_back(std::move(round));
}

}  // namespace headrace::dispatch
