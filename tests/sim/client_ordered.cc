// The client's part of `ordering: deterministic`.
#include "tests/sim/client_model.h"

namespace headrace::sim {

v1::LoaderState ClientModel::StateAt(uint64_t batch) const {
  v1::LoaderState state = State();
  state.clear_delivered();
  *state.mutable_ordered() = positions_.at(batch);
  return state;
}

bool ClientModel::Continues() const {
  return hand_ != nullptr && lost_in_ == epoch_ && hand_->position().epoch() == epoch_ &&
         hand_->position().lanes_size() != 0;
}

void ClientModel::BeginSequence(const v1::StartEpochReply& reply) {
  if (hand_ == nullptr) return;
  const bool resumes = Resumes() && !reply.lane_windows().empty();
  if (!hand_->Begin(epoch_, reply, resumes ? &*resume_ : nullptr)) {
    world_.truth.Fail("ORDER the place to go on from does not fit");
  }
  resume_.reset();
  positions_.clear();
  positions_[hand_->position().batch()] = hand_->position();
}

void ClientModel::HandOverBatches(uint64_t most) {
  while (most != 0) {
    std::set<uint64_t> gaps;
    std::vector<uint64_t> used;
    const std::optional<OrderedHand::Batch> batch = hand_->Next(gaps, used);
    for (const uint64_t task : used) {
      const auto it = tasks_.find(task);
      if (it != tasks_.end() && it->second.stream != nullptr) ++it->second.stream->credit;
    }
    // What came before it went to a stream that is gone: the task's work is made again.
    for (const uint64_t task : gaps) {
      broken_.insert(task);
      if (const auto it = tasks_.find(task); it != tasks_.end()) it->second.over = true;
    }
    if (!hand_->failure().empty()) world_.truth.Fail(hand_->failure());
    if (!batch.has_value()) return;
    HandOver(*batch);
    if (batch->handed) --most;
  }
}

void ClientModel::HandOver(const OrderedHand::Batch& batch) {
  const auto each = [](const std::vector<Run>& runs, auto take) {
    for (const Run& run : runs) {
      for (uint64_t i = 0; i < run.count; ++i) {
        take(RecordId{run.split, run.first + i, run.part, run.parts, run.pass});
      }
    }
  };
  std::vector<RecordId> elements;
  for (const auto& [task, runs] : batch.delivered) {
    each(runs, [&](const RecordId& id) { elements.push_back(id); });
    tracker_.Delivered(task, runs);
  }
  for (const auto& [task, runs] : batch.dropped) {
    each(runs, [&](const RecordId& id) { world_.truth.Drop(epoch_, id); });
    tracker_.Dropped(task, runs);
  }
  if (!batch.handed) return;
  world_.truth.DeliverBatch(epoch_, batch.number, rank_, std::move(elements));
  positions_[hand_->position().batch()] = hand_->position();
}

void ClientModel::AddWindows(v1::ClientBeatRequest& request) const {
  v1::TaskRuns& passed = *request.add_dropped();  // of no task: windows by lane
  uint64_t lane = 0;
  for (const uint64_t window : hand_->windows()) {
    v1::Run& run = *passed.add_runs();
    run.set_split(lane++);
    run.set_first(window);
    run.set_count(1);
  }
}

}  // namespace headrace::sim
