#include "dispatcher/journal/file_journal.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "common/clock.h"
#include "common/logging/logging.h"
#include "common/status.h"
#include "dispatcher/journal/store_options.h"
#include "dispatcher/journal/wal_tail.h"
#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/sst_file_writer.h"
#include "rocksdb/write_batch.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;

constexpr char kMetaKey[] = "m";
constexpr size_t kMostBatchBytes = 16 << 20;

// Keys in the order of their numbers.
void AppendNumber(uint64_t number, std::string& key) {
  for (int shift = 56; shift >= 0; shift -= 8) key.push_back(static_cast<char>(number >> shift));
}

std::string EventKey(uint64_t position) {
  std::string key = "e";
  AppendNumber(position, key);
  return key;
}

std::string ChunkKey(uint64_t snapshot, uint64_t chunk) {
  std::string key = "s";
  AppendNumber(snapshot, key);
  AppendNumber(chunk, key);
  return key;
}

absl::Status MakeDirectory(const std::string& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (!error) return absl::OkStatus();
  return Annotate(ErrnoStatus(error.value(), "make directory " + directory),
                  "journal.directory: set it to one that can be written");
}

}  // namespace

FileJournal::FileJournal(const Options& options, const JournalMetrics& metrics)
    : options_(options),
      store_(options.directory + "/store"),
      snapshot_(options.directory + "/snapshot.sst"),
      metrics_(metrics) {}

absl::StatusOr<std::unique_ptr<FileJournal>> FileJournal::Open(const Options& options,
                                                               const JournalMetrics& metrics) {
  std::unique_ptr<FileJournal> journal(new FileJournal(options, metrics));
  HR_RETURN_IF_ERROR(MakeDirectory(journal->store_));
  if (absl::Status status = journal->mark_.Open(options.directory + "/durable"); !status.ok()) {
    return Annotate(status, "journal.directory: set it to one that can be written");
  }
  HR_ASSIGN_OR_RETURN(journal->promised_, journal->mark_.Read(journal->mark_damaged_));
  HR_ASSIGN_OR_RETURN(const std::optional<TornTail> torn, FindTornTail(journal->store_));
  HR_RETURN_IF_ERROR(journal->OpenStore());
  if (torn.has_value()) {
    LogWarning(
        "journal: {}: the last write was torn: {} bytes from offset {} on are cut; they held "
        "events "
        "that no answer depended on",
        torn->path, torn->bytes, torn->offset);
  }
  HR_RETURN_IF_ERROR(journal->ReadMeta());
  return journal;
}

absl::Status FileJournal::Damaged(std::string_view how) const {
  return DataLoss(
      "journal {}: {}; restore the directory from a copy, or move it away to begin with an empty "
      "one (jobs then go on from their trainers' checkpoints)",
      options_.directory, how);
}

absl::Status FileJournal::OpenStore() {
  rocksdb::DB* db = nullptr;
  rocksdb::Options options = StoreOptions();
  // Never a new store in the place of one whose beginning is gone.
  options.create_if_missing = !mark_damaged_ && promised_.value_or(0) == 0;
  const rocksdb::Status status = rocksdb::DB::Open(options, store_, &db);
  db_.reset(db);
  if (status.ok()) return absl::OkStatus();
  const std::string words = status.ToString();
  if (words.find("lock") != std::string::npos && words.find("LOCK") != std::string::npos) {
    return FailedPrecondition(
        "journal {}: another dispatcher has it ({}); stop that one, or set journal.directory to "
        "another directory",
        options_.directory, words);
  }
  if (status.IsCorruption() || status.IsNotFound() || status.IsPathNotFound() ||
      status.IsInvalidArgument()) {
    return Damaged(words);
  }
  return Annotate(FromStore(status), fmt::format("journal {}: open", options_.directory));
}

absl::Status FileJournal::ReadMeta() {
  std::string value;
  const rocksdb::Status status = db_->Get(rocksdb::ReadOptions(), kMetaKey, &value);
  if (status.ok()) {
    if (!meta_.ParseFromString(value)) return Damaged("its own description cannot be read");
    if (meta_.format() > kFormat) {
      return FailedPrecondition(
          "journal {}: a newer version of Headrace wrote it (format {}, this one knows {}); run "
          "that version, or set journal.directory to another directory",
          options_.directory, meta_.format(), kFormat);
    }
    return absl::OkStatus();
  }
  if (!status.IsNotFound()) return Damaged(status.ToString());
  const std::unique_ptr<rocksdb::Iterator> any(db_->NewIterator(rocksdb::ReadOptions()));
  any->SeekToFirst();
  if (!any->status().ok()) return Damaged(any->status().ToString());
  if (any->Valid()) return Damaged("its own description is missing");
  meta_.set_format(kFormat);
  rocksdb::WriteOptions write;
  write.sync = true;
  return FromStore(db_->Put(write, kMetaKey, meta_.SerializeAsString()));
}

absl::Status FileJournal::ReplaySnapshot(const Reader& reader) const {
  const std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator(SequentialRead()));
  uint64_t chunk = 0;
  const std::string end = ChunkKey(meta_.snapshot() + 1, 0);
  for (it->Seek(ChunkKey(meta_.snapshot(), 0)); it->Valid() && it->key().compare(end) < 0;
       it->Next(), ++chunk) {
    if (it->key() != ChunkKey(meta_.snapshot(), chunk)) break;
    const absl::Status status = reader.chunk({it->value().data(), it->value().size()});
    if (!status.ok()) {
      return Damaged(
          fmt::format("snapshot {}, chunk {}: {}", meta_.snapshot(), chunk, OneLine(status)));
    }
  }
  if (!it->status().ok()) return Damaged(it->status().ToString());
  if (chunk == meta_.chunks()) return absl::OkStatus();
  return Damaged(
      fmt::format("snapshot {} has {} chunks, of {}", meta_.snapshot(), chunk, meta_.chunks()));
}

absl::StatusOr<uint64_t> FileJournal::ReplayEvents(const Reader& reader) {
  const std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator(SequentialRead()));
  uint64_t position = meta_.position();
  v1::Event event;
  for (it->Seek("e"); it->Valid() && it->key().starts_with("e"); it->Next(), ++position) {
    if (it->key() != EventKey(position)) {
      return Damaged(fmt::format("event {} is missing, later ones are there", position));
    }
    if (!event.ParseFromArray(it->value().data(), static_cast<int>(it->value().size()))) {
      return Damaged(fmt::format("event {} cannot be read", position));
    }
    bytes_since_ += it->value().size();
    HR_RETURN_IF_ERROR(Annotate(reader.event(event),
                                fmt::format("journal {}: event {}", options_.directory, position)));
  }
  if (!it->status().ok()) return Damaged(it->status().ToString());
  return position;
}

absl::Status FileJournal::Replay(const Reader& reader) {
  const absl::Duration start = RealClock().Steady();
  if (meta_.snapshot() != 0) HR_RETURN_IF_ERROR(ReplaySnapshot(reader));
  HR_ASSIGN_OR_RETURN(const uint64_t end, ReplayEvents(reader));
  if (mark_damaged_) {
    LogWarning(
        "journal: {} is damaged: whether events are missing at the journal's end is not "
        "checked this time",
        mark_.path());
  } else if (promised_.value_or(0) > end) {
    return Damaged(fmt::format("{} events were durable, {} of them are there ({} tells)",
                               *promised_, end, mark_.path()));
  }
  const absl::Duration took = RealClock().Steady() - start;
  metrics_.replay_seconds->Set(absl::ToDoubleSeconds(took));
  metrics_.snapshot_bytes->Set(static_cast<double>(meta_.bytes()));
  LogInfo("journal {}: a snapshot of {} bytes and {} events behind it, replayed in {}",
          options_.directory, meta_.bytes(), end - meta_.position(),
          absl::FormatDuration(absl::Trunc(took, absl::Milliseconds(1))));
  snapshot_bytes_ = meta_.bytes();
  queue_.Start(end, [this](std::span<v1::Event> events, uint64_t position) {
    return Commit(events, position);
  });
  return absl::OkStatus();
}

FileJournal::~FileJournal() {
  queue_.Stop();
  if (db_ != nullptr) {
    rocksdb::CancelAllBackgroundWork(db_.get(), /*wait=*/true);
    const rocksdb::Status status = db_->Close();
    if (!status.ok()) LogWarning("journal {}: close: {}", options_.directory, status.ToString());
  }
}

uint64_t FileJournal::Append(std::vector<v1::Event> events) {
  return queue_.Append(std::move(events));
}

absl::Status FileJournal::WaitDurable(uint64_t position) { return queue_.WaitDurable(position); }

absl::StatusOr<size_t> FileJournal::Commit(std::span<const v1::Event> events, uint64_t position) {
  const auto write = [&]() -> absl::Status {
    rocksdb::WriteBatch batch;
    std::string value;
    uint64_t bytes = 0;
    for (const v1::Event& event : events) {
      event.SerializeToString(&value);
      bytes += value.size();
      HR_RETURN_IF_ERROR(FromStore(batch.Put(EventKey(position++), value)));
      if (batch.GetDataSize() < kMostBatchBytes) continue;
      HR_RETURN_IF_ERROR(WriteDurably(batch, std::exchange(bytes, 0)));
      batch.Clear();
    }
    if (batch.Count() != 0) HR_RETURN_IF_ERROR(WriteDurably(batch, bytes));
    return mark_.Write(position);
  };
  HR_RETURN_IF_ERROR(Annotate(write(), fmt::format("journal {}", options_.directory)));
  metrics_.events->Add(static_cast<int64_t>(events.size()));
  return events.size();
}

absl::Status FileJournal::WriteDurably(rocksdb::WriteBatch& batch, uint64_t bytes) {
  const absl::Duration start = RealClock().Steady();
  HR_RETURN_IF_ERROR(FromStore(db_->Write(rocksdb::WriteOptions(), &batch)));
  const absl::Duration written = RealClock().Steady();
  HR_RETURN_IF_ERROR(FromStore(db_->SyncWAL()));
  metrics_.append->Observe(written - start);
  metrics_.fsync->Observe(RealClock().Steady() - written);
  metrics_.bytes->Add(static_cast<int64_t>(bytes));
  bytes_since_ += bytes;
  return absl::OkStatus();
}

bool FileJournal::WantsCompaction() const {
  const auto least = static_cast<uint64_t>(options_.snapshot_after.value);
  return bytes_since_ >= std::max<uint64_t>(least, snapshot_bytes_);
}

absl::StatusOr<uint64_t> FileJournal::WriteSnapshot(uint64_t number, uint64_t& bytes,
                                                    absl::FunctionRef<bool(std::string&)> next) {
  rocksdb::SstFileWriter writer{rocksdb::EnvOptions(), StoreOptions()};
  HR_RETURN_IF_ERROR(FromStore(writer.Open(snapshot_)));
  uint64_t chunks = 0;
  for (std::string chunk; next(chunk); ++chunks) {
    bytes += chunk.size();
    HR_RETURN_IF_ERROR(FromStore(writer.Put(ChunkKey(number, chunks), chunk)));
  }
  HR_RETURN_IF_ERROR(FromStore(writer.Finish()));
  rocksdb::IngestExternalFileOptions ingest;
  ingest.move_files = true;
  HR_RETURN_IF_ERROR(FromStore(db_->IngestExternalFile({snapshot_}, ingest)));
  return chunks;
}

absl::Status FileJournal::Compact(uint64_t position, absl::FunctionRef<bool(std::string&)> next) {
  const absl::Duration start = RealClock().Steady();
  const uint64_t since = bytes_since_;
  v1::JournalMeta meta = meta_;
  meta.set_snapshot(meta.snapshot() + 1);
  meta.set_position(position);
  uint64_t bytes = 0;
  const absl::StatusOr<uint64_t> chunks = WriteSnapshot(meta.snapshot(), bytes, next);
  std::error_code ignored;
  fs::remove(snapshot_, ignored);  // of one that failed; ingested, it has another name
  if (!chunks.ok()) {
    return Annotate(chunks.status(), fmt::format("journal {}: snapshot", options_.directory));
  }
  meta.set_chunks(*chunks);
  meta.set_bytes(bytes);
  rocksdb::WriteBatch batch;
  const std::string events_end = EventKey(position);
  const std::string chunks_end = ChunkKey(meta.snapshot(), 0);
  HR_RETURN_IF_ERROR(FromStore(batch.Put(kMetaKey, meta.SerializeAsString())));
  HR_RETURN_IF_ERROR(FromStore(batch.DeleteRange("e", events_end)));
  HR_RETURN_IF_ERROR(FromStore(batch.DeleteRange("s", chunks_end)));
  rocksdb::WriteOptions write;
  write.sync = true;
  HR_RETURN_IF_ERROR(FromStore(db_->Write(write, &batch)));
  meta_ = meta;
  bytes_since_ -= since;
  snapshot_bytes_ = bytes;
  // Space back at once; what is left of the ranges goes with the store's own compactions.
  const rocksdb::Slice first_event("e"), last_event(events_end);
  const rocksdb::Slice first_chunk("s"), last_chunk(chunks_end);
  const rocksdb::RangePtr ranges[] = {{&first_event, &last_event}, {&first_chunk, &last_chunk}};
  (void)rocksdb::DeleteFilesInRanges(db_.get(), db_->DefaultColumnFamily(), ranges, 2,
                                     /*include_end=*/false);
  const absl::Duration took = RealClock().Steady() - start;
  metrics_.snapshots->Add();
  metrics_.snapshot_seconds->Add(took);
  metrics_.snapshot_bytes->Set(static_cast<double>(bytes));
  LogInfo("journal {}: snapshot of {} bytes after {} events, in {}", options_.directory, bytes,
          position, absl::FormatDuration(absl::Trunc(took, absl::Milliseconds(1))));
  return absl::OkStatus();
}

}  // namespace headrace
