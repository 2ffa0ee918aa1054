// The compute threads of a worker, shared by all its tasks: deficit round robin by weight over
// measured CPU time (Shreedhar and Varghese, "Efficient Fair Queueing using Deficit Round Robin",
// SIGCOMM '95, with nanoseconds for bytes).
//
// The worker owns the one pool; it outlives every seat. Units of work never block, so a seat is
// given up in the time of the units that run at that moment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "pipeline/engine/cpu_meter.h"

namespace headrace {

// What the pool runs: a task, cut into units.
class WorkSource {
 public:
  virtual ~WorkSource() = default;
  // Runs one unit (aim: 1 to 10 ms of CPU, no blocking calls). False when none was runnable; the
  // pool then asks again only after Notify(). Called by several threads at once, without any lock
  // of the pool.
  virtual bool RunUnit() = 0;
};

class ComputePool {
 public:
  struct Options {
    size_t threads = 0;                  // 0: one per core
    uint64_t quantum_nanos = 1'000'000;  // of CPU per round and unit of weight
    // A turn lasts at least so long, whatever the weight, and is paid for over later rounds: what
    // one unit has made is still in the core's caches for the next one.
    uint64_t least_turn_nanos = 500'000;
    const CpuMeter* cpu = nullptr;  // null: RealCpuMeter()
  };

  explicit ComputePool(Options options);
  ~ComputePool();  // every seat must be gone; joins the threads
  ComputePool(const ComputePool&) = delete;
  ComputePool& operator=(const ComputePool&) = delete;

  // A task's place in the round. Thread-safe.
  class Seat {
   public:
    ~Seat() { Leave(); }
    // Returns when no thread is inside RunUnit() of its source and none will be again.
    void Leave();
    // There may be a runnable unit (again). Cheap; callable under the source's own locks and from
    // inside RunUnit().
    void Notify();
    // CPU time charged so far.
    uint64_t cpu_nanos() const;
    // Time that threads spent inside RunUnit(), computing or not.
    uint64_t busy_nanos() const;

   private:
    friend class ComputePool;
    Seat(ComputePool& pool, WorkSource& source, double weight);

    ComputePool& pool_;
    WorkSource& source_;
    const double weight_;
    double deficit_nanos_ = 0;  // these: under pool_.mutex_
    bool in_turn_ = false;
    uint64_t charged_nanos_ = 0;
    uint64_t busy_nanos_ = 0;
    uint64_t notified_ = 0;  // counts reasons to look again
    size_t running_ = 0;     // threads inside RunUnit()
    bool ready_ = false;     // in pool_.ready_
    bool leaving_ = false;
  };
  // `weight` <= 0 counts as 1. `source` must outlive the seat.
  std::unique_ptr<Seat> Join(WorkSource& source, double weight);

  size_t threads() const { return threads_.size(); }
  // Of all threads, since the start, units that are under way left out.
  uint64_t busy_nanos() const;

 private:
  void Loop();
  // The seat whose turn it is, or null when none is ready.
  Seat* PickLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool MayRunLocked(Seat& seat) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ReadyLocked(Seat& seat) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void UnreadyLocked(Seat& seat) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  const CpuMeter& cpu_;
  mutable absl::Mutex mutex_;
  absl::CondVar work_;  // a seat became ready, or stop
  absl::CondVar idle_;  // a unit ended: for seats that leave
  std::list<Seat*> ready_
      ABSL_GUARDED_BY(mutex_);  // the round; its head is served until its deficit is used up
  size_t sleeping_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t busy_nanos_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace headrace
