// The driver `etcd`: events under keys of an etcd cluster, written by the dispatcher that leads and
// by it alone. One object per term of leading (dispatcher/etcd/leadership.h).
//
// Keys below the prefix:
//   meta                          v1.EtcdJournalMeta: the snapshot in force
//   end                           how many events are durable, in decimal
//   e/FIRST.TERM.PIECES.PIECE     a v1.EventGroup that begins with event FIRST (hexadecimal)
//   s/SNAPSHOT/CHUNK.PIECES.PIECE a chunk of a snapshot
// A value over a MiB is cut into pieces, because etcd takes no larger requests. Each write is one
// transaction that is guarded by the term (fencing) and by `end`: the last piece of a group moves
// `end` on, so that a group is there whole or not at all, and a first try that comes late, after a
// second one went through, does nothing. Pieces of a group that was never finished are passed over
// by the reader and go with the next snapshot. Nothing is ever deleted that a reader could need,
// however late the deletion comes: names of snapshots are not used twice.
//
// A committer thread makes one transaction of all events that wait (group commit). It tries again
// while etcd does not answer and the term lasts; then the journal has failed with NotTheLeader.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "common/byte_count.h"
#include "dispatcher/etcd/etcd_client.h"
#include "dispatcher/etcd/leadership.h"
#include "dispatcher/journal/commit_queue.h"
#include "dispatcher/journal/journal.h"
#include "dispatcher/journal/journal_metrics.h"
#include "headrace/v1/etcd_journal.pb.h"

namespace headrace {

class EtcdJournal final : public Journal {
 public:
  // Of what is in etcd. One that is newer is refused.
  static constexpr uint32_t kFormat = 1;

  struct Options {
    std::string prefix;  // without a slash at its end
    ByteCount snapshot_after = MiB(64);
    // Tells etcd to forget old revisions after each snapshot: of the whole cluster's keys.
    bool compact_history = true;
    size_t piece_bytes = 1 << 20;
  };
  // `term` and `etcd` outlive it.
  EtcdJournal(Options options, Leadership& term, EtcdClient& etcd, const JournalMetrics& metrics);
  ~EtcdJournal() override;  // commits what was appended, while the term lasts
  EtcdJournal(const EtcdJournal&) = delete;
  EtcdJournal& operator=(const EtcdJournal&) = delete;

  absl::Status Replay(const Reader& reader) override;
  uint64_t Append(std::vector<v1::Event> events) override;
  // Also asks whether the term lasts: an answer that rests on old events must not leave either when
  // another may lead.
  absl::Status WaitDurable(uint64_t position) override;
  bool WantsCompaction() const override;
  absl::Status Compact(uint64_t position, absl::FunctionRef<bool(std::string&)> next) override;

 private:
  std::string EventKey(uint64_t first) const;
  std::string ChunkKey(std::string_view snapshot, uint64_t chunk) const;
  absl::Status Damaged(std::string_view how) const;

  // Tries again while that may help and the term lasts.
  absl::StatusOr<etcd::TxnResponse> Write(const etcd::TxnRequest& txn);
  absl::Status Scan(std::string first, const std::string& end,
                    absl::FunctionRef<absl::Status(const etcd::KeyValue&)> take);

  absl::Status ReadMeta();
  absl::Status Found();  // writes an empty journal's first keys
  absl::Status ReplaySnapshot(const Reader& reader);
  absl::Status ReplayEvents(const Reader& reader);
  // As many events as go into one piece.
  absl::StatusOr<size_t> Commit(std::span<v1::Event> events, uint64_t first);
  absl::Status CommitGroup(uint64_t first, const v1::EventGroup& group);
  // Puts `value` in pieces below `key`. The last one goes with what `last` holds already; a refused
  // transaction is OK when `kept` says that an earlier try of it went through.
  absl::Status PutPieces(const std::string& key, std::string_view value,
                         const etcd::TxnRequest& each, const etcd::TxnRequest& last,
                         absl::FunctionRef<bool(const etcd::TxnResponse&)> kept);
  absl::Status Refused(const etcd::TxnResponse& response);
  uint64_t FirstGroupOf(uint64_t position);
  // The chunks of a snapshot, each guarded by the term; counts them in `meta`.
  absl::Status PutChunks(absl::FunctionRef<bool(std::string&)> next, v1::EtcdJournalMeta& meta);
  // From now on it is `meta`'s snapshot that counts; etcd's revision by then.
  absl::StatusOr<int64_t> PutInForce(const v1::EtcdJournalMeta& meta);
  // What the snapshot in force makes superfluous. What stays behind after an error, goes next time.
  absl::Status DeleteOld(int64_t revision);
  absl::Status DeleteEventsBefore(uint64_t first_group);

  const Options options_;
  const std::string meta_key_;
  const std::string end_key_;
  Leadership& term_;
  EtcdClient& etcd_;
  JournalMetrics metrics_;
  v1::EtcdJournalMeta meta_;  // after Replay: Compact's
  std::string meta_value_;    // as it is in etcd
  uint64_t end_ = 0;          // Replay's
  uint64_t snapshots_made_ = 0;
  std::atomic<uint64_t> snapshot_bytes_ = 0;
  std::atomic<uint64_t> bytes_since_ = 0;  // of events, since the snapshot

  mutable absl::Mutex mutex_;
  std::deque<uint64_t> groups_ ABSL_GUARDED_BY(mutex_);  // first events, since the snapshot
  CommitQueue queue_;                                    // runs since Replay
};

}  // namespace headrace
