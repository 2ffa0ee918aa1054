// What compute threads do in a task (the rest of StagedTask is in staged_task.cc).
#include <algorithm>
#include <utility>

#include "common/status.h"
#include "pipeline/engine/staged_task.h"

namespace headrace {
namespace {

// What waits in front of a slow chain waits where other workers cannot have it: no more than so
// much time's worth.
constexpr double kStageAheadNanos = 250e6;

}  // namespace

bool StagedTask::StrandReadyLocked(size_t stage) const {
  const Stage& s = *stages_[stage];
  if (s.strand_busy || s.discards || !s.window.HasNext()) return false;
  if (stage + 1 == stages_.size()) return output_.has_room();
  const Stage& next = *stages_[stage + 1];
  return next.input_bytes < options_.stage_bytes && !next.Ahead(kStageAheadNanos);
}

bool StagedTask::ChainReadyLocked(size_t stage) const {
  const Stage& s = *stages_[stage];
  if (s.discards) return false;
  if (s.window.count() > 0) {
    const uint64_t expected = s.window.done_bytes() + s.window.running() * s.out_bytes_per_block;
    if (s.window.count() >= s.max_window || expected >= options_.stage_bytes) return false;
  }
  return stage == 0 ? source_->HasItem() : !s.input.empty();
}

bool StagedTask::HasUnitLocked() const {
  for (size_t i = stages_.size(); i-- > 0;) {
    if (StrandReadyLocked(i) || ChainReadyLocked(i)) return true;
  }
  return false;
}

bool StagedTask::TakeReadLocked(Unit& unit) {
  while (std::optional<SourceStage::Item> item = source_->Pop()) {
    if (item->flush) {
      unit.parcel.flush = item->flush;
      return true;
    }
    // Under the lock, so that the books see the items of a lease in their order.
    accounting_.Enter(item->lease, item->passed.entered);
    for (const auto& [parts, count] : item->passed.parts_left_out)
      accounting_.EnterPart(item->lease, parts, count);
    if (item->end) {
      accounting_.ReadToEnd(item->lease, *item->end);
      unit.split_ended = true;
    }
    if (item->block) {
      unit.parcel.block = std::move(item->block);
      unit.parcel.passage = std::move(item->passage);
      return true;
    }
  }
  return false;
}

bool StagedTask::TakeInputLocked(size_t stage, Unit& unit) {
  if (stage == 0) return TakeReadLocked(unit);
  Stage& s = *stages_[stage];
  Parcel& front = s.input.front();
  const size_t rows = s.sizer->rows();
  s.input_bytes -= front.bytes();
  s.input_rows -= front.rows();
  const bool sized = !s.chain.empty() || s.async_step;
  // A block that is to be kept stays whole until it is.
  const bool whole = front.passage.fill != nullptr;
  if (front.block && sized && !whole && front.block->rows() > 2 * rows) {
    unit.parcel.block = front.block->TakeFront(rows);
    unit.parcel.passage.cached = front.passage.cached;
    s.input_bytes += front.bytes();
    s.input_rows += front.rows();
    return true;
  }
  unit.parcel = std::move(front);
  s.input.pop_front();
  return true;
}

bool StagedTask::FindUnitLocked(Unit& unit) {
  for (size_t i = stages_.size(); i-- > 0;) {
    Stage& s = *stages_[i];
    unit.stage = i;
    if (StrandReadyLocked(i)) {
      unit.strand = true;
      unit.parcel = s.window.TakeNext();
      s.strand_busy = true;
      return true;
    }
    if (ChainReadyLocked(i) && TakeInputLocked(i, unit)) {
      unit.ticket = s.window.Begin();
      return true;
    }
  }
  return false;
}

bool StagedTask::RunUnit() {
  Unit unit;
  bool more = false;
  bool found = false;
  {
    absl::MutexLock lock(&mutex_);
    if (stopping_ || !status_.ok()) return false;
    found = FindUnitLocked(unit);
    more = found && HasUnitLocked();
  }
  if (more) seat_->Notify();  // wakes one more thread
  if (unit.split_ended) {
    Call(callbacks_.on_report);
    if (LeasesWanted() > 0) Call(callbacks_.on_want_leases);
  }
  if (!found) return false;
  if (unit.strand || RunChain(unit)) RunStrand(unit);
  return true;
}

bool StagedTask::RunChain(Unit& unit) {
  Stage& s = *stages_[unit.stage];
  absl::Status status;
  ChainTime time{.began = deps_.clock->Steady()};
  if (unit.parcel.block) {
    Block& block = *unit.parcel.block;
    if (unit.stage == 0) status = BookEnds(block, read_step_, fail_on_error_, accounting_);
    const size_t rows = block.rows();
    if (status.ok()) {
      const absl::StatusOr<uint64_t> nanos = s.chain.Run(block, unit.parcel.passage);
      status = nanos.status();
      if (status.ok()) time.cpu_nanos = *nanos;
      if (status.ok() && !s.chain.empty() && !s.async_step) {
        s.sizer->Measured(rows, *nanos, ElapsedNanos(time.began));
      }
    }
    if (block.rows() == 0) {
      if (status.ok()) unit.parcel.passage.Deposit(block);
      unit.parcel.block.reset();
    }
  }
  if (!status.ok()) Fail(status);
  if (status.ok() && s.async_step && unit.parcel.block && !SkipsAsync(s, unit.parcel)) {
    StartAsync(unit, time);
    return false;
  }
  absl::MutexLock lock(&mutex_);
  if (s.discards) {
    s.window.Cancel();
    return false;
  }
  s.out_bytes_per_block = unit.parcel.bytes();
  s.window.End(unit.ticket, std::move(unit.parcel));
  s.NotePeak();
  if (!StrandReadyLocked(unit.stage)) return false;
  unit.parcel = s.window.TakeNext();
  s.strand_busy = true;
  return true;
}

void StagedTask::StartAsync(Unit& unit, ChainTime time) {
  Stage& s = *stages_[unit.stage];
  const uint64_t rows = unit.parcel.block->rows();
  s.async_step->tally->In(rows, unit.parcel.block->live_bytes());
  s.session->Start(*std::move(unit.parcel.block),
                   [this, stage = unit.stage, ticket = unit.ticket, rows, time,
                    passage = unit.parcel.passage](absl::StatusOr<AsyncResult> result) {
                     FinishAsync(stage, ticket, rows, time, passage, std::move(result));
                   });
}

void StagedTask::FinishAsync(size_t stage, uint64_t ticket, uint64_t rows, ChainTime time,
                             CachePassage passage, absl::StatusOr<AsyncResult> result) {
  Stage& s = *stages_[stage];
  const EngineStep& step = *s.async_step;
  Parcel parcel;
  if (!result.ok() || !result->block.failures().empty()) passage.fill.reset();
  absl::Status status =
      result.ok() ? AcceptEmitted(step, result->block) : Annotate(result.status(), step.where);
  if (status.ok()) {
    step.tally->Cpu(result->cpu_nanos, rows);
    s.sizer->Measured(rows, time.cpu_nanos + result->cpu_nanos, ElapsedNanos(time.began));
    step.tally->Out(result->block.rows(), result->block.live_bytes());
    if (result->block.rows() == 0) passage.Deposit(result->block);
    if (result->block.rows() > 0) parcel.block = std::move(result->block);
    parcel.passage = std::move(passage);
  } else {
    Fail(status);
  }
  {
    absl::MutexLock lock(&mutex_);
    if (s.discards) {
      s.window.Cancel();
    } else {
      s.out_bytes_per_block = parcel.bytes();
      s.window.End(ticket, std::move(parcel));
      s.NotePeak();
    }
  }
  seat_->Notify();
}

absl::Status StagedTask::AcceptEmitted(const EngineStep& step, Block& block) {
  HR_RETURN_IF_ERROR(BookEnds(block, step, fail_on_error_, accounting_));
  block.SetSchema(step.node->output);
  HR_RETURN_IF_ERROR(accounting_.DropSkippedParts(block));
  block.Compact();
  block.dropped().clear();  // in the books since their record entered
  return absl::OkStatus();
}

absl::Status StagedTask::RunStep(Stage& stage, Parcel parcel, std::vector<Parcel>& out) {
  const EngineStep& step = *stage.step;
  absl::Status accepted;
  const auto emit = [&](Block block) {
    accepted.Update(AcceptEmitted(step, block));
    if (block.rows() == 0) return;
    step.tally->Out(block.rows(), block.live_bytes());
    out.emplace_back().block = std::move(block);
  };
  const absl::Duration began = deps_.clock->Steady();
  const uint64_t before = cpu_.ThreadNanos();
  absl::Status status;
  const size_t rows = parcel.block ? parcel.block->rows() : 0;
  if (rows > 0) {
    step.tally->In(rows, parcel.block->live_bytes());
    status = stage.state->Push(*std::move(parcel.block), emit);
  }
  std::optional<uint64_t> flush = parcel.flush;
  if (stage.state->satisfied()) flush = Parcel::kFinal;
  if (status.ok() && flush) {
    status = stage.state->Finish(emit);
    out.emplace_back().flush = flush;
  }
  const uint64_t nanos = cpu_.ThreadNanos() - before;
  step.tally->Cpu(nanos, rows);
  if (stage.chain.empty()) stage.sizer->Measured(rows, nanos, ElapsedNanos(began));
  if (!status.ok()) return Annotate(status, step.where);
  return accepted;
}

void StagedTask::RunStrand(Unit& unit) {
  Stage& s = *stages_[unit.stage];
  const bool last = unit.stage + 1 == stages_.size();
  std::vector<Parcel> out;
  absl::Status status;
  bool satisfied = false;
  if (!s.step) {
    out.push_back(std::move(unit.parcel));
  } else {
    status = RunStep(s, std::move(unit.parcel), out);
    satisfied = status.ok() && s.state->satisfied();
  }
  const uint64_t held = s.state != nullptr ? s.state->held_bytes() : 0;
  if (!status.ok()) Fail(status);
  {
    absl::MutexLock lock(&mutex_);
    if (s.discards) {
      out.clear();
      satisfied = false;
    }
    if (satisfied) SatisfyLocked(unit.stage);  // what came out of the step goes on
    s.held_bytes = held;
    if (!last) {
      for (Parcel& parcel : out) stages_[unit.stage + 1]->Put(std::move(parcel));
      out.clear();
    }
  }
  for (Parcel& parcel : out) {
    status = Sink(std::move(parcel));
    if (status.ok()) continue;
    Fail(status);
    break;
  }
  {
    absl::MutexLock lock(&mutex_);
    s.strand_busy = false;
    if (s.discards) {
      s.state.reset();
      s.held_bytes = 0;
    }
  }
  if (satisfied) Call(callbacks_.on_want_leases);  // to be told that they are not needed
}

void StagedTask::FailLargeRows(Block& block) const {
  for (size_t row = 0; row < block.rows(); ++row) {
    uint64_t bytes = 0;
    for (const auto& column : block.columns()) bytes += column[row].bytes;
    if (bytes <= options_.max_element_bytes) continue;
    block.Fail(row, OutOfRange("an element of {} bytes is over max_element_bytes, {}; make batches "
                               "smaller or raise it",
                               bytes, options_.max_element_bytes));
  }
}

absl::Status StagedTask::Sink(Parcel parcel) {
  if (parcel.block && parcel.block->rows() > 0) {
    Block& block = *parcel.block;
    if (block.bytes() > options_.max_element_bytes) {
      FailLargeRows(block);
      HR_RETURN_IF_ERROR(BookEnds(block, sink_step_, fail_on_error_, accounting_));
    }
    HR_RETURN_IF_ERROR(accounting_.Emit(block));
    block.Compact();
    block.dropped().clear();  // booked as they were emitted
    output_.Push(std::move(block));
  }
  if (!parcel.flush) return absl::OkStatus();
  if (options_.mark_windows) output_.PushMark(deps_.graph->output_schema());
  if (*parcel.flush == Parcel::kFinal) {
    {
      absl::MutexLock lock(&mutex_);
      final_passed_ = true;
    }
    accounting_.Abandon();
  } else if (!satisfied_) {
    HR_RETURN_IF_ERROR(accounting_.Flushed(*parcel.flush));
  }
  Call(callbacks_.on_report);
  return absl::OkStatus();
}

}  // namespace headrace
