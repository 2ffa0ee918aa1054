// What happens to the leases of an epoch: given out, reported on, cut, retired, and given back when
// a fence is through. The rest of Epoch is in epoch.cc.
#include <algorithm>
#include <tuple>
#include <utility>

#include "common/status.h"
#include "dispatcher/state/epoch.h"

namespace headrace::dispatch {

absl::Status Epoch::Grant(const v1::LeasesGranted& event) {
  const auto it = tasks_.find(TaskId(event.task()));
  if (it == tasks_.end() || it->second.fenced) {
    return FailedPrecondition("task {} is not active", event.task());
  }
  if (event.first_records_size() != event.end_records_size() ||
      (!event.first_records().empty() && event.first_records_size() != event.splits_size())) {
    return FailedPrecondition("leases with columns that do not fit together");
  }
  Task& task = it->second;
  task.last_request = event.request_number();
  task.last_answer.clear();
  task.exhausted = event.exhausted();
  for (int i = 0; i < event.splits_size(); ++i) {
    Piece item{
        {static_cast<uint32_t>(event.splits(i)), event.passes().empty() ? 0 : event.passes(i)}};
    if (!event.first_records().empty()) {
      item.first = event.first_records(i);
      item.end = event.end_records(i);
    }
    HR_RETURN_IF_ERROR(lanes_[task.lane].Take(item));
    counts_.skipped += lanes_[task.lane].Find(item)->records_done_in(item.first, item.end);
    const LeaseNumber number(event.first_number() + static_cast<uint64_t>(i));
    leases_.Add({number, task.id, task.lane, item, false,
                 event.first_position() + static_cast<uint64_t>(i)});
    task.leases.insert(task.leases.end(), number);
    task.last_answer.push_back(number);
  }
  return absl::OkStatus();
}

void Epoch::Report(WorkerId worker, const v1::SplitReport& report) {
  const Task* task = FindActiveTask(TaskId(report.task()));
  if (task == nullptr || task->worker != worker) return;  // fenced
  // `take` is satisfied: what was never leased is settled (also when all that was leased is retired
  // by now).
  if (report.abandoned() && data_->single_task) lanes_[task->lane].Close();
  const SplitPass item{static_cast<uint32_t>(report.split()), report.pass()};
  Lease* lease = leases_.Find(LeaseNumber(report.lease()));
  if (lease == nullptr || lease->task != task->id || SplitPass(lease->item) != item) {
    return;  // retired, or told before
  }
  const uint32_t lane = lease->lane;
  SplitLedger* ledger = lanes_[lane].Find(item);
  uint64_t added = 0;
  for (const v1::Run& run : report.settled()) {
    const uint64_t fresh = lanes_[lane].Cover(item, run);
    if (run.parts() <= 1) ledger->NoteSettled(fresh);
    added += fresh;
  }
  counts_.settled += added;
  const uint64_t failed = std::min(report.failed(), added);
  counts_.failed += failed;
  if (failed != 0) {
    for (const v1::FailureSample& sample : report.samples()) {
      if (failures_.size() < kKeptFailureSamples) failures_.push_back(sample);
    }
  }
  if (!Cut(*lease, report.cuts())) return;
  if (report.read_to_end()) {
    leases_.MarkReadToEnd(*lease);
    // What ends before its split does says nothing of that.
    if (report.records() < lease->item.end) {
      ledger->SetTotal(lanes_[lane].Own(item.split, report.records()));
    }
  }
  if (report.abandoned()) {
    leases_.MarkReadToEnd(*lease);
    ledger->Abandon(report.emitted());
  }
  RetireIfComplete(lane, item, readers_.empty() ? ClientId() : *readers_.begin());
}

bool Epoch::NothingToCome(const Lease& lease) {
  SplitLedger* ledger = lanes_[lease.lane].Find(lease.item);
  if (ledger == nullptr) return false;
  return lease.item.whole() ? ledger->Complete()
                            : ledger->CompleteIn(lease.item.first, lease.item.end);
}

std::optional<uint64_t> Epoch::Owed(const Lease& lease) const {
  const SplitLedger* ledger = lanes_[lease.lane].Find(lease.item);
  if (!lease.read_to_end || ledger == nullptr) return std::nullopt;
  const uint64_t end = std::min(lease.item.end, ledger->total().value_or(Piece::kToEnd));
  if (end == Piece::kToEnd) return std::nullopt;
  const uint64_t records = end - std::min(end, lease.item.first);
  const uint64_t done =
      lease.item.whole() ? ledger->records_done() : ledger->records_done_in(lease.item.first, end);
  return records - std::min(records, done);
}

bool Epoch::Cut(Lease& lease, const google::protobuf::RepeatedField<uint64_t>& cuts) {
  Lane& lane = lanes_[lease.lane];
  if (!lane.def().shared()) return true;  // nobody else could read them; nobody was asked
  std::vector<Piece> rest;
  for (const uint64_t cut : cuts) {
    Piece piece = lease.item;
    piece.first = std::max(cut, lease.item.first);
    if (piece.first >= lease.item.end) break;  // told before, and given to others since
    if (!rest.empty() && piece.first <= rest.back().first) continue;
    if (!rest.empty()) rest.back().end = piece.first;
    rest.push_back(piece);
  }
  if (rest.empty()) return true;
  const bool empty = rest.front().first == lease.item.first;
  counts_.pieces += rest.size();
  lane.Cut(rest, empty);
  lease.item.end = rest.front().first;
  if (empty) CloseLease(lease);
  return !empty;
}

void Epoch::RetireIfComplete(uint32_t lane, SplitPass item, ClientId client) {
  const absl::Span<const LeaseNumber> at = leases_.At(lane, item);
  for (const LeaseNumber number : absl::InlinedVector<LeaseNumber, 1>(at.begin(), at.end())) {
    const Lease& lease = *leases_.Find(number);
    if (!NothingToCome(lease)) continue;
    // A replay must read it to its end again, so that its counting steps see it.
    const Task* task = FindTask(lease.task);
    if (task->replay && !lease.read_to_end) continue;
    const std::optional<uint64_t> need = lanes_[lane].Find(item)->need();
    CloseLease(lease);
    if (!lanes_[lane].Retire(item)) continue;
    ++counts_.retired;
    if (need.has_value() && !lanes_[lane].def().by_record()) NoteNeed(client, {item, *need});
  }
}

void Epoch::CloseLease(const Lease& lease) {
  const LeaseNumber number = lease.number;
  tasks_[lease.task].leases.erase(number);
  leases_.Remove(number);
}

void Epoch::Release(const FenceRound& round) {
  std::map<uint32_t, std::vector<Piece>> back;
  for (const TaskId id : round.tasks) {
    const Task& task = tasks_[id];
    back.try_emplace(task.lane);
    for (const LeaseNumber number : absl::btree_set<LeaseNumber>(task.leases)) {
      const Lease lease = *leases_.Find(number);
      const bool done = NothingToCome(lease);
      CloseLease(lease);
      Lane& lane = lanes_[lease.lane];
      if (!done && !round.give_up) {
        back[lease.lane].push_back(lease.item);
      } else if (round.give_up) {
        lane.GiveUp(lease.item);
        ++counts_.given_up;
      } else if (lane.Retire(lease.item)) {
        ++counts_.retired;
      }
    }
  }
  for (auto& [index, items] : back) {
    Lane& lane = lanes_[index];
    std::ranges::sort(items, {},
                      [](const Piece& s) { return std::tuple(s.pass, s.split, s.first); });
    lane.GiveBack(items);
    if ((data_->single_task || ordered()) && !lane.Done()) {
      counts_.retired -= lane.retired();
      lane.Rewind();
      counts_.retired += lane.retired();
    }
  }
}

}  // namespace headrace::dispatch
