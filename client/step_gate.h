// `uneven` other than free (dispatcher/ops/steps.h): a batch is handed over when the dispatcher has
// granted it, and what is granted is kept, whatever is fenced. Thread-free: the Loader calls it
// under its mutex.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "client/element.h"
#include "client/frame_merger.h"
#include "headrace/v1/dispatcher.pb.h"

namespace headrace {

class StepGate {
 public:
  // `on`: the job is of that kind. Else the gate is open, and does nothing.
  explicit StepGate(bool on) : on_(on) {}

  bool on() const { return on_; }
  void Reset() {
    ready_.clear();
    handed_ = granted_ = 0;
    final_.reset();
    last_.reset();
  }
  // What a beat's answer grants, taken out of `merger`: before its fences are looked at.
  void Grant(const v1::ClientBeatReply& reply, FrameMerger& merger) {
    granted_ = std::max(granted_, reply.steps_granted());
    if (reply.has_steps_final()) final_ = reply.steps_final();
    if (reply.steps_hold() != 0) merger.SetFrameLimit(reply.steps_hold());
    while (handed_ + ready_.size() < granted_) {
      std::optional<FrameMerger::Row> row = merger.Pop();
      if (!row) return;  // a repeated one, at the end
      ready_.push_back(*std::move(row));
    }
  }
  // A batch that is granted.
  std::optional<FrameMerger::Row> Take() {
    if (ready_.empty()) return std::nullopt;
    FrameMerger::Row row = std::move(ready_.front());
    ready_.pop_front();
    ++handed_;
    last_.emplace(row.frame, row.row);
    return row;
  }
  // The last one again, where the others have one more.
  std::optional<Element> Repeat() {
    if (!ready_.empty() || !final_.has_value() || handed_ >= *final_) return std::nullopt;
    if (!last_.has_value()) return std::nullopt;
    ++handed_;
    return last_;
  }
  // The epoch's end, for every rank.
  bool AtEnd() const { return final_.has_value() && handed_ >= *final_; }
  // Frames of that task will be handed over still: its fence is not confirmed yet.
  bool Keeps(uint64_t task) const {
    for (const FrameMerger::Row& row : ready_) {
      if (row.task == task) return true;
    }
    return false;
  }
  bool starved() const { return ready_.empty(); }
  void Fill(const FrameMerger& merger, v1::StepsReport& report) {
    report.set_sequence(++sequence_);
    report.set_handed(handed_);
    report.set_sure(handed_ + ready_.size());
    report.set_held(handed_ + ready_.size() + merger.rows());
    uint64_t records = merger.records();
    for (const FrameMerger::Row& row : ready_) records += RecordsOf(*row.frame, row.row);
    report.set_held_records(records);
  }
  static uint64_t RecordsOf(const FrameView& frame, size_t row) {
    std::vector<Run> runs;
    frame.AppendRuns(row, row + 1, runs);
    uint64_t records = 0;
    for (const Run& run : runs) records += run.count;
    return records;
  }

 private:
  const bool on_;
  std::deque<FrameMerger::Row> ready_;
  uint64_t handed_ = 0;
  uint64_t granted_ = 0;
  std::optional<uint64_t> final_;
  std::optional<Element> last_;
  uint64_t sequence_ = 0;
};

}  // namespace headrace
