// Workers and trainers of a trace, second by second: workers make batches into the trainers'
// bounded queues, trainers take them or wait. What windows measure of it is noisy; what happens is
// not.
//
// Workers stand in groups: one for all jobs (ours, the HPA's), or one for each (Cachew's way). A
// worker that was asked for comes up after the trace's start time; a preempted one is replaced
// after the same time, whoever scales.
#pragma once

#include <cstddef>
#include <vector>

#include "orchestrator/simulator/scaling/trace.h"

namespace headrace::orchestrate {

struct JobSecond {  // what one second brought
  bool runs = false;
  double demand = 0;
  double taken = 0;         // batches
  double busy_workers = 0;  // workers' worth of busy threads
  double fill = 0;          // of the queue, at its end
  double stall = 0;         // of the second
};

class SimulatedFleet {
 public:
  enum class Layout { kShared, kPerJob };
  SimulatedFleet(const ScalingTrace& trace, Layout layout);

  // `group`: 0 of a shared fleet, else the job's.
  void SetWorkers(size_t group, size_t workers);
  void SetLocal(size_t job, size_t workers) { local_[job] = workers; }
  // One second goes by.
  void Step();

  double now() const { return now_; }
  size_t groups() const { return groups_.size(); }
  size_t GroupOf(size_t job) const { return layout_ == Layout::kShared ? 0 : job; }
  size_t wanted(size_t group) const { return groups_[group].wanted; }
  size_t ready(size_t group) const { return groups_[group].ready; }
  size_t lost() const { return lost_; }  // preempted in the last second
  const std::vector<JobSecond>& jobs() const { return seconds_; }
  // Paid for: ready, and starting.
  size_t paid() const;
  // What the fleet would cost in the long run, as asked for and come up so far; those that are
  // being replaced count as there.
  double Cost() const;
  // The same of the cheapest fleet of this layout, and how many workers that has.
  double LeastCost() const;
  size_t CheapestWorkers() const;

 private:
  struct Group {
    size_t wanted = 1;
    size_t ready = 1;
    std::vector<double> starting = {};  // when they come up
    size_t replacing = 0;               // of those, how many replace preempted ones
  };
  Fleet FleetOf(size_t group) const;
  void Preempt();
  void RunGroup(size_t group);

  const ScalingTrace& trace_;
  const Layout layout_;
  double now_ = 0;
  size_t lost_ = 0;
  size_t next_preemption_ = 0;
  std::vector<Group> groups_;
  std::vector<size_t> local_;   // per job
  std::vector<double> queues_;  // batches, per job
  std::vector<JobSecond> seconds_;
};

}  // namespace headrace::orchestrate
