// The driver `file`: events in an embedded store (RocksDB) under one directory.
//
// A committer thread writes all events that wait as one atomic batch to the store's write-ahead log
// and syncs it (group commit); a snapshot is one file that is ingested whole, and comes into force
// with a synced write that also deletes the events before it. Beside the store lies `durable`: up
// to where events were durable when answers left. A store that ends before it has lost what it had
// promised (damage, not a torn tail), and is refused: RocksDB alone cannot tell the two apart where
// a length is damaged. Why RocksDB, and what it does not do: docs/design/020.
//
// Owned by the dispatcher; thread-safe as journal.h says. An error of a write is for good.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/byte_count.h"
#include "dispatcher/journal/commit_queue.h"
#include "dispatcher/journal/durable_mark.h"
#include "dispatcher/journal/journal.h"
#include "dispatcher/journal/journal_metrics.h"

namespace rocksdb {
class DB;
class WriteBatch;
}  // namespace rocksdb

namespace headrace {

class FileJournal final : public Journal {
 public:
  // Of what is in the directory. One that is newer is refused.
  static constexpr uint32_t kFormat = 1;

  struct Options {
    std::string directory;  // made where it is not
    ByteCount snapshot_after = MiB(64);
  };
  // PERMISSION_DENIED or whatever the system says (a directory that cannot be made or written),
  // FAILED_PRECONDITION (another dispatcher has it; of a newer version), DATA_LOSS (damaged). Each
  // names the path and says what to do.
  static absl::StatusOr<std::unique_ptr<FileJournal>> Open(const Options& options,
                                                           const JournalMetrics& metrics);
  ~FileJournal() override;  // commits what was appended
  FileJournal(const FileJournal&) = delete;
  FileJournal& operator=(const FileJournal&) = delete;

  absl::Status Replay(const Reader& reader) override;
  uint64_t Append(std::vector<v1::Event> events) override;
  absl::Status WaitDurable(uint64_t position) override;
  bool WantsCompaction() const override;
  absl::Status Compact(uint64_t position, absl::FunctionRef<bool(std::string&)> next) override;

 private:
  FileJournal(const Options& options, const JournalMetrics& metrics);

  absl::Status OpenStore();
  absl::Status ReadMeta();
  absl::Status ReplaySnapshot(const Reader& reader) const;
  absl::StatusOr<uint64_t> ReplayEvents(const Reader& reader);
  absl::Status Damaged(std::string_view how) const;
  absl::StatusOr<size_t> Commit(std::span<const v1::Event> events, uint64_t position);
  absl::Status WriteDurably(rocksdb::WriteBatch& batch, uint64_t bytes);
  absl::StatusOr<uint64_t> WriteSnapshot(uint64_t number, uint64_t& bytes,
                                         absl::FunctionRef<bool(std::string&)> next);

  const Options options_;
  const std::string store_;     // the store's directory
  const std::string snapshot_;  // a snapshot in the making
  JournalMetrics metrics_;
  DurableMark mark_;
  std::optional<uint64_t> promised_;  // what the mark said when this was opened
  bool mark_damaged_ = false;
  std::unique_ptr<rocksdb::DB> db_;
  v1::JournalMeta meta_;  // after Replay: Compact's
  std::atomic<uint64_t> snapshot_bytes_ = 0;
  std::atomic<uint64_t> bytes_since_ = 0;  // of events, since the snapshot
  CommitQueue queue_;                      // runs since Replay
};

}  // namespace headrace
