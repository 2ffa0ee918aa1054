// The Task: stages in a row between a source and an output queue. Compute threads find their next
// unit of work from the last stage to the first, so that what is nearly done leaves before new work
// comes in.
//
// A unit is one block through a chain, or one finished block through a stateful step (the strand:
// in order, by one thread at a time). A unit starts only when there is room for what it makes, so
// compute threads never wait.
//
// Locks: mutex_ before those of the source, the accounts and the output queue; none is held while
// steps or callbacks run.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "pipeline/engine/accounting.h"
#include "pipeline/engine/source_stage.h"
#include "pipeline/engine/stage.h"
#include "pipeline/engine/task.h"

namespace headrace {

class StagedTask final : public Task, public WorkSource {
 public:
  StagedTask(TaskDeps deps, TaskOptions options, TaskCallbacks callbacks);
  // Of making its stages; without success nothing may be asked of it.
  const absl::Status& made() const { return made_; }
  ~StagedTask() override;

  absl::Status AddLease(const v1::Lease& lease) override;
  size_t LeasesWanted() const override;
  void Shed(size_t idle) override;
  void NoMoreLeases() override;
  OutputQueue& output() override { return output_; }
  std::vector<v1::SplitReport> TakeReports() override { return accounting_.TakeReports(); }
  v1::TaskStats Stats() const override;
  uint64_t busy_nanos() const override { return seat_->busy_nanos(); }
  absl::Status status() const override;
  bool satisfied() const override { return satisfied_; }
  bool Idle() const override;

  bool RunUnit() override;

 private:
  struct Unit {
    size_t stage = 0;
    bool strand = false;
    uint64_t ticket = 0;  // of a chain unit
    Parcel parcel;
    bool split_ended = false;  // a split was read to its end on the way
  };

  struct ChainTime {
    absl::Duration began;
    uint64_t cpu_nanos = 0;
  };
  uint64_t ElapsedNanos(absl::Duration since) const {
    return static_cast<uint64_t>(
        std::max<int64_t>(0, absl::ToInt64Nanoseconds(deps_.clock->Steady() - since)));
  }

  void MakeStages();
  void OpenSession(EngineStep step, Stage& stage);
  EngineStep MakeStep(size_t index) const;
  // The node where rows may come from a cache; SIZE_MAX: none.
  size_t CacheNode() const;
  std::shared_ptr<SourceStage> MakeSource();

  // --- Finding work.
  bool FindUnitLocked(Unit& unit) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HasUnitLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool StrandReadyLocked(size_t stage) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool ChainReadyLocked(size_t stage) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Moves the next input of the stage into `parcel`. False: nothing but ends of splits was there.
  bool TakeInputLocked(size_t stage, Unit& unit) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool TakeReadLocked(Unit& unit) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // --- Doing it (without mutex_).
  // Runs the unit's chain. True: `unit` has become the strand unit that follows from it.
  bool RunChain(Unit& unit);
  void RunStrand(Unit& unit);
  // Hands the unit's block to the stage's asynchronous step; `time` it has cost so far.
  void StartAsync(Unit& unit, ChainTime time);
  // The block came from a cache behind the stage's asynchronous step.
  bool SkipsAsync(const Stage& stage, const Parcel& parcel) const {
    return parcel.passage.cached && stage.async_step->index < CacheNode();
  }
  // Called by the session, on a thread of its own.
  void FinishAsync(size_t stage, uint64_t ticket, uint64_t rows, ChainTime time,
                   CachePassage passage, absl::StatusOr<AsyncResult> result);
  // Pushes the parcel through the stage's stateful step; appends what came out.
  absl::Status RunStep(Stage& stage, Parcel parcel, std::vector<Parcel>& out);
  // Books and checks a block that the stateful step emitted.
  absl::Status AcceptEmitted(const EngineStep& step, Block& block);
  absl::Status Sink(Parcel parcel);
  void FailLargeRows(Block& block) const;

  // Everything up to and with `stage` counts no more; the reading stops.
  void SatisfyLocked(size_t stage) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DiscardLocked(size_t stages) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Fail(const absl::Status& status);
  static void Call(const std::function<void()>& callback) {
    if (callback) callback();
  }

  const TaskDeps deps_;
  const TaskOptions options_;
  const TaskCallbacks callbacks_;
  const CpuMeter& cpu_;
  const bool fail_on_error_;

  std::vector<std::unique_ptr<StepTally>> tallies_;  // per node of the graph
  std::vector<std::unique_ptr<BlockSizer>> sizers_;  // per stage but the first
  EngineStep read_step_;                             // for failures of the reader
  EngineStep sink_step_;                             // for rows that are too large to leave
  Accounting accounting_;
  OutputQueue output_;
  std::shared_ptr<SourceStage> source_;
  std::atomic<bool> satisfied_{false};
  std::unique_ptr<ComputePool::Seat> seat_;
  absl::Status made_;

  mutable absl::Mutex mutex_;
  std::vector<std::unique_ptr<Stage>> stages_;  // the vector: set once; what it holds: under mutex_
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  uint64_t generation_ ABSL_GUARDED_BY(mutex_) = 1;  // of the next flush
  bool unflushed_ ABSL_GUARDED_BY(mutex_) = false;   // leases were added since the last flush
  bool final_passed_ ABSL_GUARDED_BY(mutex_) =
      false;  // satisfied, and all that was to come out is out
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace headrace
