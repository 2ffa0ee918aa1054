// The books of one task: what became of every record of every lease. Thread-safe; called once per
// block, never per row.
//
// A book is open until its split has been read to its end, each record that entered the stream has
// come to an end (all its parts are output or settled) and the dispatcher has been told.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "element/block.h"
#include "headrace/v1/dispatcher.pb.h"
#include "pipeline/engine/skip_set.h"

namespace headrace {

class Accounting {
 public:
  struct Options {
    bool keep_emitted =
        false;  // the pipeline can be satisfied early: remember which records became output
    bool replay = false;  // skip sets are applied to output rows, not at the source
    size_t max_samples = 10;
  };
  explicit Accounting(Options options) : options_(options) {}

  // Opens a book. False: it is open already (a doubled call). FAILED_PRECONDITION: records of it
  // are open under another lease. `generation`: Flushed() with it or a later one closes the book.
  absl::StatusOr<bool> Open(const v1::Lease& lease, std::shared_ptr<const SkipSet> skip,
                            uint64_t generation);

  // `entered` more records of the lease are in the stream.
  void Enter(uint64_t lease, uint64_t entered);
  // Of the records that entered, `count` parts are in the skip set and will not come.
  void EnterPart(uint64_t lease, uint32_t parts, uint64_t count);
  void ReadToEnd(uint64_t lease, uint64_t records);
  // The lease ends before the first of `cuts`, of which nothing has entered and nothing will; each
  // begins a piece that others may have. Before anything is read there: the book closes once that
  // is told.
  void Cut(uint64_t lease, std::vector<uint64_t> cuts);
  // Left without output. Runs of books that are closed (abandoned) are ignored.
  void Settle(std::span<const Run> runs);
  // Left without output, and is not to be reported: another shard's.
  void Leave(std::span<const Run> runs);
  // Counts failures (their runs come by Settle) and keeps the first as samples. `where` names the
  // step (empty: the message says it all); the answer is the first one in words: step, record, file
  // and range.
  std::string Fail(std::span<const RowFailure> failures, std::string_view where,
                   std::string_view step);
  // Rows that are about to be output. Marks those that a replay or a skipped part must not send
  // again with Block::Drop; the caller compacts. INTERNAL: a row holds both kinds.
  absl::Status Emit(Block& block);
  // After a step that may cut records: drops elements that are in a skip set. Cheap when no lease
  // has such.
  absl::Status DropSkippedParts(Block& block);

  // Everything of this generation and earlier ones has passed all steps: INTERNAL when a record is
  // missing or doubled.
  absl::Status Flushed(uint64_t generation);
  // The task reads no further, and nothing more will be output: reports all that is open as
  // abandoned.
  void Abandon();

  std::vector<v1::SplitReport> TakeReports();
  bool AllClosed() const;
  size_t open() const;

 private:
  using Key = std::tuple<uint64_t, uint32_t, uint64_t>;  // split, pass, first record
  struct Book {
    uint64_t lease = 0;
    v1::Split split;
    uint32_t pass = 0;
    uint64_t first = 0;  // records of the split, up to `end`
    uint64_t end = UINT64_MAX;
    std::vector<uint64_t> cuts;  // not yet reported
    std::shared_ptr<const SkipSet> skip;
    uint64_t generation = 0;
    bool ended = false;
    bool abandoned = false;
    bool dirty = false;  // something to report
    uint64_t records = 0;
    uint64_t entered = 0;
    uint64_t whole_done = 0;
    absl::InlinedVector<std::pair<uint32_t, uint64_t>, 1> parts_done;  // parts -> elements
    std::vector<Run> settled;                                          // not yet reported
    uint64_t failed = 0;                                               // not yet reported
    std::vector<v1::FailureSample> samples;
    std::vector<Run> emitted;

    void AddDone(uint32_t parts, uint64_t count);
    // Records all of whose elements are done; false in `exact` while some record is done in part.
    uint64_t Done(bool& exact) const;
    bool complete() const;
    // All of it was left to others.
    bool given_up() const { return end <= first; }
    bool Has(uint64_t of_split, uint32_t of_pass, uint64_t record) const {
      return split.id() == of_split && pass == of_pass && record >= first && record < end;
    }
    Key key() const { return {split.id(), pass, first}; }
  };

  Book* FindLocked(uint64_t split, uint32_t pass, uint64_t record)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The books of a run, each with its part of it: records of one split follow on over leases.
  void ForEachLocked(const Run& run, absl::FunctionRef<void(Book&, const Run&)> each)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DirtyLocked(Book& book) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CloseIfDoneLocked(Book& book) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EmitRowLocked(const Provenance& provenance) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  v1::SplitReport ReportLocked(Book& book) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  mutable absl::Mutex mutex_;
  absl::btree_map<Key, std::unique_ptr<Book>> books_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<uint64_t, Book*> by_lease_ ABSL_GUARDED_BY(mutex_);
  std::vector<Key> dirty_ ABSL_GUARDED_BY(mutex_);
  Book* last_ ABSL_GUARDED_BY(mutex_) = nullptr;  // rows of one book follow each other
  size_t samples_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t part_skips_ ABSL_GUARDED_BY(mutex_) = 0;  // open books whose skip set has parts
  size_t replays_ ABSL_GUARDED_BY(mutex_) = 0;     // open books whose skip set is applied to output
};

// Sorts runs and joins those that follow on.
void MergeRuns(std::vector<Run>& runs);

}  // namespace headrace
