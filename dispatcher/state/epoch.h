// One pass of a job over its dataset: lanes, tasks, leases, fences and the ledger. Part of State;
// changed by events alone.
//
// The rules that exactly-once rests on (docs/design: visitation) are here: a report or lease of a
// fenced task means nothing; what a fenced task held is leased again only when every awaited client
// has confirmed; what was delivered or settled stays so for ever.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "dispatcher/ledger/lane.h"
#include "dispatcher/state/fence_round.h"
#include "dispatcher/state/job_data.h"
#include "dispatcher/state/lease_table.h"
#include "dispatcher/state/task.h"
#include "element/delivered_set.h"

namespace headrace::dispatch {

inline constexpr size_t kKeptFailureSamples = 20;

struct EpochCounts {
  uint64_t delivered = 0;  // elements
  uint64_t settled = 0;    // records or parts without output
  uint64_t failed = 0;     // of the settled
  uint64_t given_up = 0;   // splits left undone, at most once
  uint64_t retired = 0;    // (split, pass)es
  uint64_t restored = 0;   // of the delivered, so many by a checkpoint
  uint64_t skipped = 0;    // records that leases left out: done before
  uint64_t dropped = 0;    // records left out at the end so that ranks have equally many batches
  uint64_t padded = 0;     // batches repeated to that end
  uint64_t pieces = 0;     // of splits, that one worker left to others

  void Keep(v1::KeptCounts& kept) const;
  void Reload(const v1::KeptCounts& kept);
};

// What a split needs to be whole, told to one client for its saved state.
struct SplitNeed {
  SplitPass item;
  uint64_t need = 0;
};

class Snapshot;

class Epoch {
 public:
  // `ranks`: that an ordered epoch is read by.
  Epoch(const v1::EpochStarted& event, std::shared_ptr<const JobData> data, uint32_t ranks);

  // Before all else: what a checkpoint says was delivered.
  void Restore(const DeliveredSet& delivered);

  // Events. A non-OK status leaves the epoch as it was, and means a bug or a foreign journal.
  absl::Status Enter(ClientId client);
  absl::Status Assign(const v1::TaskAssigned& event);
  absl::Status Grant(const v1::LeasesGranted& event);
  void Report(WorkerId worker, const v1::SplitReport& report);
  void Deliver(ClientId client, const v1::TaskRuns& runs);
  // The client leaves them out for good.
  void Drop(ClientId client, const v1::TaskRuns& runs);
  void NoteReport(uint32_t rank) {
    if (ordered()) reported_ranks_.insert(rank);
  }
  // Ordered: a rank has all frames before these windows, run.first of lane run.split.
  void Pass(uint32_t rank, const v1::TaskRuns& windows);
  bool HasPassed(uint32_t rank, const v1::TaskRuns& windows) const;
  void Fence(const v1::TasksFenced& event);
  void Confirm(ClientId client, const std::vector<TaskId>& tasks);
  void GrantSteps(const v1::StepsGranted& event);
  // The client is gone: nothing more is awaited from it. `give_up`: at most once, and it may have
  // handed over without a word what open fences wait for.
  void Leave(ClientId client, bool give_up);

  uint64_t number() const { return number_; }
  const std::vector<Lane>& lanes() const { return lanes_; }
  bool lane_per_worker() const { return lane_per_worker_; }
  const std::map<TaskId, Task>& tasks() const { return tasks_; }
  const Task* FindTask(TaskId id) const;  // fenced ones too
  const Task* FindActiveTask(TaskId id) const;
  std::vector<TaskId> ActiveTasks() const;
  size_t active_tasks() const { return active_tasks_; }
  std::vector<TaskId> ActiveTasksOf(WorkerId worker) const;
  size_t active_tasks_of(WorkerId worker) const;
  std::vector<TaskId> FencedTasks() const;
  const LeaseTable& leases() const { return leases_; }
  const std::list<FenceRound>& fences() const { return fences_; }
  bool ordered() const { return data_->ordered.has_value(); }
  // Ordered: a client of that rank reported deliveries.
  bool HasReported(uint32_t rank) const { return reported_ranks_.contains(rank); }
  // Records of a lease that was read to its end and that nobody has yet; nothing while it is not.
  std::optional<uint64_t> Owed(const Lease& lease) const;
  // Tasks that `client` has yet to confirm.
  std::vector<TaskId> FencesFor(ClientId client) const;
  const std::set<ClientId>& readers() const { return readers_; }
  uint64_t tasks_version() const { return tasks_version_; }
  const EpochCounts& counts() const { return counts_; }
  const std::vector<v1::FailureSample>& failures() const { return failures_; }
  // How often tasks of `worker` had to be fenced though it lives.
  uint32_t StrikesOf(WorkerId worker) const;
  uint32_t task_errors() const { return task_errors_; }

  bool restored() const { return restored_; }
  // Uneven other than free (ops/steps.h).
  uint64_t steps_granted() const { return steps_granted_; }
  bool steps_final() const { return steps_final_; }
  bool rebalanced() const { return rebalanced_; }  // the rest comes from one task
  bool reader_left() const { return reader_left_; }
  bool cuts_records() const { return cuts_records_; }  // elements are parts of records
  // For `client`, from position `seen` on, at most `most`; moves `seen` on.
  std::vector<SplitNeed> NeedsFor(ClientId client, uint64_t& seen, size_t most) const;

  uint64_t pending() const;
  // Every lane that must be read has been, and nothing is still to come.
  bool Complete() const;
  v1::EpochSummary Summary() const;
  // For tests and comparison after a replay: everything that matters, as text.
  std::string Dump() const;

  // Adds all that Reload needs (epoch_snapshot.cc). An epoch that was made of the kept
  // EpochStarted becomes the same by Reload of every part, in order; INVALID_ARGUMENT when one
  // does not fit.
  void Keep(Snapshot& snapshot) const;
  absl::Status Reload(const v1::StatePart& part);

 private:
  // The splits of an ordered lane, in its order.
  std::shared_ptr<const std::vector<uint32_t>> OrderedSplits(const v1::OrderedLaneDef& def,
                                                             std::vector<uint32_t>& order) const;
  Lane MakeLane(const v1::LaneDef& def, std::shared_ptr<const std::vector<uint32_t>> splits) const;
  bool Holds(const Lane& lane, uint64_t split) const;
  // Its task left the records from the cuts on to others: the lease ends before them. False when
  // nothing was left of it: it is closed.
  bool Cut(Lease& lease, const google::protobuf::RepeatedField<uint64_t>& cuts);
  bool NothingToCome(const Lease& lease);
  void RetireIfComplete(uint32_t lane, SplitPass item, ClientId client);
  void NoteNeed(ClientId client, SplitNeed need);
  void CloseLease(const Lease& lease);
  // Returns how many elements were not done before.
  uint64_t Cover(ClientId client, const v1::TaskRuns& runs);
  // Ordered: every rank is past the windows of the lane before this one.
  uint64_t PassedByAll(size_t lane) const;
  void FinishRounds();
  void Release(const FenceRound& round);
  void KeepLanes(Snapshot& snapshot) const;
  void KeepLeases(Snapshot& snapshot) const;
  void ReloadEpoch(const v1::KeptEpoch& kept);
  void ReloadTask(const v1::KeptTask& kept);
  void ReloadFence(const v1::KeptFence& kept);
  absl::Status ReloadLeases(const v1::KeptLeases& kept);

  const uint64_t number_;
  const std::shared_ptr<const JobData> data_;
  const uint32_t ranks_;
  const bool lane_per_worker_;
  std::vector<Lane> lanes_;
  std::map<TaskId, Task> tasks_;
  std::map<WorkerId, std::set<TaskId>> active_of_;  // no empty sets
  size_t active_tasks_ = 0;
  LeaseTable leases_;
  std::list<FenceRound> fences_;
  std::set<ClientId> readers_;
  std::set<uint32_t> reported_ranks_;
  std::map<uint32_t, std::vector<uint64_t>> passed_;  // by rank, per lane; told again by each beat
  std::map<WorkerId, uint32_t> strikes_;
  uint32_t task_errors_ = 0;
  uint64_t tasks_version_ = 1;
  EpochCounts counts_;
  std::vector<v1::FailureSample> failures_;
  bool restored_ = false;
  uint64_t steps_granted_ = 0;
  bool steps_final_ = false;
  bool rebalanced_ = false;
  bool reader_left_ = false;
  bool cuts_records_ = false;
  struct Needs {
    uint64_t first = 0;  // position of list.front()
    std::deque<SplitNeed> list;
  };
  std::map<ClientId, Needs> needs_;
};

}  // namespace headrace::dispatch
