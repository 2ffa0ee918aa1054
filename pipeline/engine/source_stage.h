// Reads a task's leases on the I/O pool and gives their blocks out in lease order: the first split
// in line, and the next ones ahead of need, each into a lane of its own.
//
// Shared by the task and by the reads in progress: a read that blocks may end after the task, and
// then finds the stage stopped. All methods are thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "common/clock.h"
#include "element/block.h"
#include "headrace/v1/dispatcher.pb.h"
#include "pipeline/engine/block_sizer.h"
#include "pipeline/engine/cpu_meter.h"
#include "pipeline/engine/io_pool.h"
#include "pipeline/engine/prefix_cache.h"
#include "pipeline/engine/record_sieve.h"
#include "pipeline/engine/step_tally.h"
#include "pipeline/formats/format.h"
#include "pipeline/sources/file_system.h"

namespace headrace {

class SourceStage : public std::enable_shared_from_this<SourceStage> {
 public:
  struct Deps {
    IoPool* io = nullptr;
    const Clock* clock = nullptr;
    const CpuMeter* cpu = nullptr;
    std::shared_ptr<FileSystem> files;
    std::shared_ptr<Format> format;
    SchemaPtr schema;
    std::shared_ptr<PrefixCache> cache = nullptr;  // null: every split is read
  };
  struct Options {
    uint64_t read_bytes = 0;
    size_t open_splits = 1;
    size_t max_leases_ahead = 1;
    uint64_t max_block_bytes = 0;
    uint64_t max_record_bytes = 0;
    uint64_t target_block_nanos = 0;
    size_t max_block_rows = 0;
  };
  // No call is running or will be made once Stop() has returned. Must be quick.
  struct Callbacks {
    std::function<void()> on_item;               // there is something to pop
    std::function<void()> on_want_leases;        // LeasesWanted() may have become positive
    std::function<void(absl::Status)> on_error;  // a file as a whole cannot be read
  };
  // One thing in the order of the stream: a block, the end of a split, or both; or a flush mark.
  struct Item {
    uint64_t lease = 0;
    std::optional<Block> block;  // what passed the sieve; may have no rows
    CachePassage passage;
    RecordSieve::Passed passed;
    uint64_t until = 0;             // position in the split behind it, in records
    std::optional<uint64_t> end;    // the lease's last item: how far the split was read
    std::optional<uint64_t> flush;  // no lease: a mark that AddFlush put here
  };

  SourceStage(Deps deps, Options options, Callbacks callbacks);

  void AddLease(const v1::Lease& lease, RecordSieve::Rule rule);
  void AddFlush(uint64_t generation);
  std::optional<Item> Pop();
  bool HasItem() const;
  // How many leases to bring: those that will be worked on within about a second, at the pace at
  // which splits were used up so far, however soon they are read.
  size_t LeasesWanted() const;

  // Gives up what would not be popped soon, for `idle` others to share: whole leases from the back,
  // and the end of one. Ascending records; each begins a piece.
  struct Cut {
    uint64_t lease = 0;
    std::vector<uint64_t> at;
  };
  std::vector<Cut> Shed(size_t idle);

  // Drops all lanes and what they hold.
  void Drop();
  // Drop(), and for good. Does not wait for reads, only for callbacks.
  void Stop();

  BlockSizer& sizer() { return sizer_; }
  const StepTally& tally() const { return tally_; }
  StepTally& tally() { return tally_; }
  // Of what came from the cache instead.
  const StepTally& cached_tally() const { return cached_tally_; }
  uint64_t bytes() const;  // read ahead
  uint64_t peak_bytes() const;
  uint64_t window_bytes() const;  // the present bound of bytes()
  bool empty() const;

 private:
  struct Lane {
    v1::Lease lease;
    std::optional<RecordSieve> sieve;  // these six: the job's that has the lane
    std::unique_ptr<RecordReader> reader;
    std::unique_ptr<CachedRows> cached;  // then there is no reader
    std::shared_ptr<PrefixFill> fill;
    bool looked_up = false;
    uint64_t records = 0;
    std::deque<Item> items;     // these: under mutex_
    bool begun = false;         // something of it was popped
    uint64_t popped = 0;        // positions, in records: behind what was popped,
    uint64_t kept = 0;          // what was read and sifted,
    uint64_t claimed = 0;       // what was read,
    uint64_t end = UINT64_MAX;  // and where the lease ends
    bool reading = false;       // a job has it
    bool filling = false;  // reads on until its bound is reached, then rests until half is used up
    bool done = false;     // read to its end
    bool dropped = false;  // what is still being read is not wanted any more
  };

  // Submits a job for every lane that may read.
  void ScheduleLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool MayReadLocked(Lane& lane, bool first) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // On an I/O thread: reads blocks of the lane while it may and nobody else waits for the thread.
  void ReadLane(const std::shared_ptr<Lane>& lane);
  // One block. True: the same thread may read the next one.
  bool ReadOnce(const std::shared_ptr<Lane>& lane);
  absl::StatusOr<bool> Fill(Lane& lane, Block& block);
  absl::StatusOr<bool> ReadSplit(Lane& lane, Block& block);
  void LookUp(Lane& lane);
  // The lane's split is to be kept, and this block of it.
  void Keep(Lane& lane, const Block& block, Item& item, bool more);
  // Books what was read before it is sifted. Where the lease ends: not before that, or all of it is
  // another's by now.
  uint64_t Claim(Lane& lane, const Block& block);
  Item Sift(Lane& lane, Block block, bool more, uint64_t end);
  // Puts what was read into the lane. False: it was dropped meanwhile.
  bool KeepLocked(Lane& lane, Item item) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void GrowWindowLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ShrinkWindowLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Records that the split of a lane has, about.
  double RecordsLocked(const Lane& lane) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Gives up the end of a lane, `give` records of it if it can; how many it were.
  double ShedLaneLocked(Lane& lane, double give, double piece, std::vector<Cut>& cuts)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndLaneLocked(Lane& lane, uint64_t at) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NotePopLocked(uint64_t records) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteDryLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  size_t LeasesWantedLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Deps deps_;
  const Options options_;
  BlockSizer sizer_;
  StepTally tally_;
  StepTally cached_tally_;

  // Held for reading around callbacks, so that Stop() can wait for them. Taken before mutex_.
  absl::Mutex gate_;
  Callbacks callbacks_ ABSL_GUARDED_BY(gate_);

  mutable absl::Mutex mutex_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<std::shared_ptr<Lane>> lanes_ ABSL_GUARDED_BY(mutex_);
  size_t held_ ABSL_GUARDED_BY(mutex_) = 0;  // leases whose last block was not popped
  uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t window_bytes_ ABSL_GUARDED_BY(mutex_);
  size_t calm_pops_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t peak_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // When the last splits were popped to their ends, behind the time of the first lease, or of an
  // earlier end.
  std::deque<absl::Duration> ends_ ABSL_GUARDED_BY(mutex_);
  // Records popped, at the beginning of the last seconds, and in all.
  std::deque<std::pair<absl::Duration, uint64_t>> pops_ ABSL_GUARDED_BY(mutex_);
  uint64_t popped_ ABSL_GUARDED_BY(mutex_) = 0;
  // Of splits that were read whole: their records, and what Split says of their size.
  uint64_t whole_records_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t whole_size_ ABSL_GUARDED_BY(mutex_) = 0;
  // Of all that was read: a first guess.
  uint64_t read_records_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t read_size_ ABSL_GUARDED_BY(mutex_) = 0;
  // Since when the first split in line has had nothing to pop.
  std::optional<absl::Duration> dry_since_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headrace
