// A lane: the list of (split, pass) that tasks draw from, and the ledger of what was delivered of
// them. Splits that nobody touched cost no memory: they lie beyond a cursor. Part of an Epoch.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "common/ids.h"
#include "dispatcher/ledger/split_ledger.h"
#include "headrace/v1/journal.pb.h"

namespace headrace::dispatch {

struct SplitPass {
  uint32_t split = 0;
  uint32_t pass = 0;

  auto operator<=>(const SplitPass&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const SplitPass& s) {
    return H::combine(std::move(h), s.split, s.pass);
  }
};

class Lane {
 public:
  // `splits`: which of the dataset's; null: the first `split_count`. Every pass goes over all of
  // them.
  Lane(v1::LaneDef def, std::shared_ptr<const std::vector<uint32_t>> splits, uint64_t split_count,
       uint64_t passes, bool single_task);

  Lane(const Lane&) = delete;
  Lane(Lane&&) = default;

  const v1::LaneDef& def() const { return def_; }

  // The next `count` to lease, in order; fewer when there are no more.
  std::vector<SplitPass> Next(size_t count) const;
  // Takes one of Next() out: it is leased from now on. FAILED_PRECONDITION when it is not the first
  // of Next().
  absl::Status Take(SplitPass item);
  // Leases that ended undone, in their order of old: they go out first.
  void GiveBack(const std::vector<SplitPass>& items);
  // Nothing of it is still to come; it was leased.
  void Retire(SplitPass item);
  // Nothing more of it will be leased; it was leased.
  void GiveUp(SplitPass item);
  // Single-task lanes: start again from the first split, keeping what is done (and where it was
  // closed).
  void Rewind();
  // Whatever was never leased is settled (`take` was satisfied).
  void Close();

  // Before the first Take, from a checkpoint: marks elements as delivered; returns how many were
  // not.
  uint64_t Restore(SplitPass item, const v1::Run& run);
  // All that becomes output of it is delivered: it will not be leased. False when it is not so, or
  // when the lane must be read whole all the same.
  bool RetireRestored(SplitPass item, uint64_t need);

  // Null for a split that is not touched yet, or retired.
  SplitLedger* Find(SplitPass item);
  const SplitLedger* Find(SplitPass item) const;
  // Marks elements as done, of the records that count in this lane. Returns how many were not.
  // Nothing for a split that Find() does not find.
  uint64_t Cover(SplitPass item, const v1::Run& run);
  // Records of a split of `records` records that count in this lane.
  uint64_t Own(uint64_t split, uint64_t records) const;

  bool has_pending() const { return pending() != 0; }
  uint64_t pending() const { return returned_.size() + (end_ - cursor_) - restored_.size(); }
  uint64_t leased() const { return leased_; }
  uint64_t retired() const { return retired_; }
  bool Done() const { return !has_pending() && leased_ == 0; }

  // For snapshots: all but the ledgers, and those, in order. A lane that was made alike becomes
  // the same by Reload and ReloadLedger; INVALID_ARGUMENT when they do not fit it.
  void Keep(v1::KeptLane& kept) const;
  void KeepLedgers(absl::FunctionRef<void(v1::KeptLedger)> each) const;
  absl::Status Reload(const v1::KeptLane& kept);
  absl::Status ReloadLedger(const v1::KeptLedger& kept);

  // The task that draws from it, where only one may. None: free.
  TaskId task;
  // OFF: the worker that it belongs to.
  WorkerId worker;

 private:
  SplitPass At(uint64_t position) const;

  v1::LaneDef def_;
  std::shared_ptr<const std::vector<uint32_t>> splits_;
  uint64_t split_count_;
  bool single_task_;
  uint64_t cursor_ = 0;  // position of the first (split, pass) never leased
  uint64_t end_ = 0;
  std::deque<SplitPass> returned_;
  absl::flat_hash_set<SplitPass> restored_;  // beyond the cursor, and done
  uint64_t leased_ = 0;
  uint64_t retired_ = 0;
  absl::flat_hash_map<SplitPass, SplitLedger> ledgers_;
};

}  // namespace headrace::dispatch
