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

// What is leased as one: a (split, pass), or a piece of it that another worker left over.
struct Piece : SplitPass {
  static constexpr uint64_t kToEnd = UINT64_MAX;  // of the split, wherever that is
  uint64_t first = 0;                             // records
  uint64_t end = kToEnd;

  bool whole() const { return first == 0 && end == kToEnd; }
  auto operator<=>(const Piece&) const = default;
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

  // Of a shared lane, so many may be passed over to lease a later one.
  static constexpr uint64_t kMostPassedOver = 1 << 14;

  // The next `count` to lease, in order; fewer when there are no more.
  std::vector<Piece> Next(size_t count) const;
  // Calls `each` with the next to lease, in order, until it answers false.
  void ForEachNext(absl::FunctionRef<bool(const Piece&)> each) const;
  // Takes one of Next() out: it is leased from now on. FAILED_PRECONDITION when it is not the first
  // of Next(), or where the lane is shared, not of its first kMostPassedOver. What is passed over
  // keeps its place.
  absl::Status Take(const Piece& piece);
  // Leases that ended undone, in their order of old: they go out first.
  void GiveBack(const std::vector<Piece>& pieces);
  // A leased piece ended before `rest`, which goes out before all else; `empty`: and is not leased
  // any more, for nothing is left of it.
  void Cut(const std::vector<Piece>& rest, bool empty);
  // Nothing of a leased piece is still to come. True when that was all of the split's pass.
  bool Retire(SplitPass item);
  // Nothing more of it will be leased; it was leased.
  void GiveUp(SplitPass item);
  // Single-task lanes start again from the first split, ordered ones from the first window of which
  // something is still to come; what is done is kept (and where it was closed).
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
  // Ordered lanes: places in the list, as leases name them. Where the next lease lies:
  uint64_t cursor() const { return cursor_; }
  uint64_t WindowOf(uint64_t position) const { return window_ == 0 ? 0 : position / window_; }
  bool EndsWindow(uint64_t position) const { return position + 1 == WindowEnd(position); }
  // Every rank has all frames of the windows before `window`: they need not be made again. Only a
  // rank's own word counts: rows that were left over tell all ranks where batches are cut, and are
  // delivered by some.
  void Pass(uint64_t window);
  uint64_t windows() const { return end_ == 0 ? 0 : WindowOf(end_ - 1) + 1; }
  // The first window of which something may still be made.
  uint64_t first_window() const { return base_ == end_ ? windows() : WindowOf(base_); }

  // Records of a split of `records` records that count in this lane.
  uint64_t Own(uint64_t split, uint64_t records) const;

  bool has_pending() const { return pending() != 0; }
  uint64_t pending() const { return returned_.size() + (end_ - cursor_) - restored_.size(); }
  uint64_t leased() const { return leased_; }
  uint64_t retired() const { return retired_; }
  bool Done() const { return !has_pending() && leased_ == 0 && (!ordered() || base_ == end_); }

  // For snapshots: all but the ledgers, and those, in order. A lane that was made alike becomes
  // the same by Reload and ReloadLedger; INVALID_ARGUMENT when they do not fit it.
  void Keep(v1::KeptLane& kept) const;
  void KeepLedgers(absl::FunctionRef<void(v1::KeptLedger)> each) const;
  absl::Status Reload(const v1::KeptLane& kept);
  absl::Status ReloadLedger(const v1::KeptLedger& kept);
  // A lease of the table that is reloaded.
  void ReloadLeased(const Piece& piece) { NotePiece(piece); }

  // The task that draws from it, where only one may. None: free.
  TaskId task;
  // OFF: the worker that it belongs to.
  WorkerId worker;

 private:
  SplitPass At(uint64_t position) const;
  // The place of a whole split at or behind the cursor, where it may be taken; end_ if nowhere.
  uint64_t Seek(SplitPass item) const;
  // One more piece of a split that was cut is open.
  void NotePiece(const Piece& piece) {
    if (!piece.whole()) ++pieces_[piece];
  }
  // A piece is not open any more. True: no other of its split is.
  bool CloseLast(SplitPass item);
  bool ordered() const { return def_.has_ordered(); }
  uint64_t WindowEnd(uint64_t position) const;
  // Forgets the windows in front that are done and that every rank is past. `complete`: also splits
  // that are, and not retired.
  void DropDoneWindows(bool complete);

  v1::LaneDef def_;
  std::shared_ptr<const std::vector<uint32_t>> splits_;
  uint64_t split_count_;
  bool single_task_;
  uint64_t cursor_ = 0;  // position of the first (split, pass) never leased
  uint64_t end_ = 0;
  std::deque<Piece> returned_;  // came back, or passed over; what has no ledger was never leased
  absl::flat_hash_set<SplitPass> restored_;  // beyond the cursor, and done
  uint64_t leased_ = 0;                      // pieces
  uint64_t retired_ = 0;                     // (split, pass)es
  // Of splits that were cut: how many pieces are leased or were returned. Not there: at most one.
  absl::flat_hash_map<SplitPass, uint64_t> pieces_;
  absl::flat_hash_map<SplitPass, SplitLedger> ledgers_;
  // Ordered lanes. A window is made again as a whole, so its ledgers stay until all of it is
  // retired.
  uint64_t window_ = 0;                  // splits; 0: one window
  uint64_t passed_ = 0;                  // every rank is past the windows before this one
  uint64_t base_ = 0;                    // where the first window begins that is not done
  uint64_t done_to_ = 0;                 // all of [base_, done_to_) is retired
  absl::flat_hash_set<SplitPass> done_;  // retired, of the windows from base_ on
};

}  // namespace headrace::dispatch
