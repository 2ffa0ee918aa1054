#include "dispatcher/journal/etcd_journal.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "common/backoff.h"
#include "common/clock.h"
#include "common/logging/logging.h"
#include "common/status.h"
#include "dispatcher/etcd/etcd_requests.h"
#include "dispatcher/journal/etcd_pieces.h"
#include "rpc/leader_redirect.h"

namespace headrace {
namespace {

// Less than the lease, so that a hanging member leaves time for another.
constexpr absl::Duration kCallTimeout = absl::Seconds(2);
// Groups are read one by one and deleted in lots: many small ones call for a snapshot too.
constexpr size_t kManyGroups = 10'000;
constexpr size_t kDeletedAtOnce = 1000;
constexpr uint64_t kPageBytes = 16 << 20;

std::optional<uint64_t> ParseNumber(std::string_view text, int base) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

EtcdJournal::EtcdJournal(Options options, Leadership& term, EtcdClient& etcd,
                         const JournalMetrics& metrics)
    : options_(std::move(options)),
      meta_key_(options_.prefix + "/meta"),
      end_key_(options_.prefix + "/end"),
      term_(term),
      etcd_(etcd),
      metrics_(metrics) {}

EtcdJournal::~EtcdJournal() { queue_.Stop(); }

std::string EtcdJournal::EventKey(uint64_t first) const {
  return fmt::format("{}/e/{:016x}", options_.prefix, first);
}

std::string EtcdJournal::ChunkKey(std::string_view snapshot, uint64_t chunk) const {
  return fmt::format("{}/s/{}/{:08x}", options_.prefix, snapshot, chunk);
}

absl::Status EtcdJournal::Damaged(std::string_view how) const {
  return DataLoss(
      "journal etcd {}: {}; restore etcd from a copy, or set journal.prefix to another one to "
      "begin "
      "with an empty journal (jobs then go on from their trainers' checkpoints)",
      options_.prefix, how);
}

absl::StatusOr<etcd::TxnResponse> EtcdJournal::Write(const etcd::TxnRequest& txn) {
  Backoff backoff({.initial = absl::Milliseconds(20), .max = absl::Milliseconds(500)},
                  static_cast<uint64_t>(term_.lease()));
  for (bool first = true;; first = false) {
    const absl::Duration left = term_.Left();
    if (left <= absl::ZeroDuration()) return NotTheLeader("");
    auto response = etcd_.Txn(txn, std::min(left, kCallTimeout));
    if (response.ok() || !EtcdClient::MayPass(response.status())) return response;
    if (first) LogWarning("journal: {}; trying again", OneLine(response.status()));
    term_.lost().Wait(std::min(backoff.Next(), left));
  }
}

absl::Status EtcdJournal::Scan(std::string first, const std::string& end,
                               absl::FunctionRef<absl::Status(const etcd::KeyValue&)> take) {
  etcd::RangeRequest request;
  request.set_key(std::move(first));
  request.set_range_end(end);
  request.set_limit(64);
  Backoff backoff({.initial = absl::Milliseconds(20), .max = absl::Milliseconds(500)}, 0);
  while (true) {
    const absl::Duration left = term_.Left();
    if (left <= absl::ZeroDuration()) return NotTheLeader("");
    const auto page = etcd_.Range(request, std::min(left, kCallTimeout));
    if (!page.ok()) {
      if (!EtcdClient::MayPass(page.status())) return page.status();
      LogWarning("journal: {}; trying again", OneLine(page.status()));
      // Perhaps the page is what takes so long.
      request.set_limit(std::max<int64_t>(1, request.limit() / 4));
      term_.lost().Wait(std::min(backoff.Next(), left));
      continue;
    }
    uint64_t largest = 1;
    for (const etcd::KeyValue& kv : page->kvs()) {
      largest = std::max<uint64_t>(largest, kv.value().size());
      HR_RETURN_IF_ERROR(take(kv));
    }
    if (!page->more() || page->kvs_size() == 0) return absl::OkStatus();
    request.set_key(page->kvs(page->kvs_size() - 1).key() + '\0');
    request.set_limit(static_cast<int64_t>(std::clamp<uint64_t>(kPageBytes / largest, 16, 1024)));
  }
}

absl::Status EtcdJournal::Found() {
  meta_.set_format(kFormat);
  meta_value_ = meta_.SerializeAsString();
  etcd::TxnRequest txn;
  *txn.add_compare() = term_.Guard();
  *txn.add_compare() = IsAbsent(meta_key_);
  *txn.add_success() = Put(meta_key_, meta_value_);
  *txn.add_success() = Put(end_key_, "0");
  *txn.add_failure() = Get(term_.key());
  *txn.add_failure() = Get(meta_key_);
  HR_ASSIGN_OR_RETURN(const etcd::TxnResponse response, Write(txn));
  const etcd::KeyValue* meta = KeyValueOf(response, 1);
  const bool kept = term_.IsOurs(KeyValueOf(response, 0)) && meta != nullptr &&
                    meta->value() == meta_value_;  // by an earlier try
  return response.succeeded() || kept ? absl::OkStatus() : Refused(response);
}

absl::Status EtcdJournal::ReadMeta() {
  std::optional<std::string> meta;
  std::optional<std::string> end;
  const auto take = [&](const etcd::KeyValue& kv) {
    if (kv.key() == meta_key_) meta = kv.value();
    if (kv.key() == end_key_) end = kv.value();
    return absl::OkStatus();
  };
  HR_RETURN_IF_ERROR(Scan(end_key_, end_key_ + '\0', take));
  HR_RETURN_IF_ERROR(Scan(meta_key_, meta_key_ + '\0', take));
  if (!meta.has_value() && !end.has_value()) {
    bool any = false;
    HR_RETURN_IF_ERROR(Scan(options_.prefix + "/e/", EndOfPrefix(options_.prefix + "/e/"),
                            [&any](const etcd::KeyValue&) {
                              any = true;
                              return absl::OkStatus();
                            }));
    if (any) return Damaged("its own description is missing");
    return Found();
  }
  if (!meta.has_value()) return Damaged("its own description is missing");
  if (!meta_.ParseFromString(*meta)) return Damaged("its own description cannot be read");
  if (meta_.format() > kFormat) {
    return FailedPrecondition(
        "journal etcd {}: a newer version of Headrace wrote it (format {}, this one knows {}); run "
        "that version, or set journal.prefix to another one",
        options_.prefix, meta_.format(), kFormat);
  }
  const std::optional<uint64_t> number =
      end.has_value() ? ParseNumber(*end, 10) : std::optional<uint64_t>();
  if (!number.has_value() || *number < meta_.position()) {
    return Damaged(fmt::format("its end is '{}', behind a snapshot at {}", end.value_or("missing"),
                               meta_.position()));
  }
  meta_value_ = *std::move(meta);
  end_ = *number;
  return absl::OkStatus();
}

absl::Status EtcdJournal::ReplaySnapshot(const Reader& reader) {
  if (meta_.snapshot().empty()) return absl::OkStatus();
  PieceJoiner joiner;
  uint64_t chunk = 0;
  HR_RETURN_IF_ERROR(Scan(ChunkKey(meta_.snapshot(), 0), ChunkKey(meta_.snapshot(), meta_.chunks()),
                          [&](const etcd::KeyValue& kv) -> absl::Status {
                            if (!joiner.Add(kv.key(), kv.value())) return absl::OkStatus();
                            if (joiner.base() != ChunkKey(meta_.snapshot(), chunk)) {
                              return absl::OkStatus();  // found out below
                            }
                            ++chunk;
                            return reader.chunk(joiner.value());
                          }));
  if (chunk == meta_.chunks()) return absl::OkStatus();
  return Damaged(fmt::format("snapshot {}: chunk {} of {} is missing or torn", meta_.snapshot(),
                             chunk, meta_.chunks()));
}

absl::Status EtcdJournal::ReplayEvents(const Reader& reader) {
  PieceJoiner joiner;
  uint64_t position = meta_.first_group();
  std::deque<uint64_t> groups;
  HR_RETURN_IF_ERROR(
      Scan(EventKey(position), EventKey(end_), [&](const etcd::KeyValue& kv) -> absl::Status {
        if (!joiner.Add(kv.key(), kv.value())) return absl::OkStatus();
        if (!joiner.base().starts_with(EventKey(position))) {
          return Damaged(fmt::format("event {} is missing, {} is there", position, joiner.base()));
        }
        v1::EventGroup group;
        if (!group.ParseFromString(joiner.value()) || group.events_size() == 0) {
          return Damaged(fmt::format("{}: it cannot be read", joiner.base()));
        }
        groups.push_back(position);
        bytes_since_ += joiner.value().size();
        for (const v1::Event& event : group.events()) {
          if (position++ < meta_.position()) continue;  // the snapshot has it
          HR_RETURN_IF_ERROR(
              Annotate(reader.event(event),
                       fmt::format("journal etcd {}: event {}", options_.prefix, position - 1)));
        }
        return absl::OkStatus();
      }));
  if (position != end_) {
    return Damaged(fmt::format("{} events were durable, {} of them are there", end_, position));
  }
  absl::MutexLock lock(&mutex_);
  groups_ = std::move(groups);
  return absl::OkStatus();
}

absl::Status EtcdJournal::Replay(const Reader& reader) {
  const absl::Duration start = RealClock().Steady();
  HR_RETURN_IF_ERROR(ReadMeta());
  HR_RETURN_IF_ERROR(ReplaySnapshot(reader));
  HR_RETURN_IF_ERROR(ReplayEvents(reader));
  const absl::Duration took = RealClock().Steady() - start;
  snapshot_bytes_ = meta_.bytes();
  metrics_.replay_seconds->Set(absl::ToDoubleSeconds(took));
  metrics_.snapshot_bytes->Set(static_cast<double>(meta_.bytes()));
  LogInfo("journal etcd {}: a snapshot of {} bytes and {} events behind it, replayed in {}",
          options_.prefix, meta_.bytes(), end_ - meta_.position(),
          absl::FormatDuration(absl::Trunc(took, absl::Milliseconds(1))));
  queue_.Start(
      end_, [this](std::span<v1::Event> events, uint64_t first) { return Commit(events, first); });
  return absl::OkStatus();
}

uint64_t EtcdJournal::Append(std::vector<v1::Event> events) {
  return queue_.Append(std::move(events));
}

absl::Status EtcdJournal::WaitDurable(uint64_t position) {
  HR_RETURN_IF_ERROR(queue_.WaitDurable(position));
  return term_.Check();
}

absl::StatusOr<size_t> EtcdJournal::Commit(std::span<v1::Event> events, uint64_t first) {
  v1::EventGroup group;
  size_t bytes = 0;
  for (v1::Event& event : events) {
    const size_t size = event.ByteSizeLong() + 6;  // with its tag and length
    if (group.events_size() != 0 && bytes + size > options_.piece_bytes) break;
    bytes += size;
    *group.add_events() = std::move(event);
  }
  HR_RETURN_IF_ERROR(
      Annotate(CommitGroup(first, group), fmt::format("journal etcd {}", options_.prefix)));
  absl::MutexLock lock(&mutex_);
  groups_.push_back(first);  // before it counts as durable: FirstGroupOf looks for it
  return static_cast<size_t>(group.events_size());
}

absl::Status EtcdJournal::CommitGroup(uint64_t first, const v1::EventGroup& group) {
  const std::string value = group.SerializeAsString();
  const std::string after = std::to_string(first + static_cast<uint64_t>(group.events_size()));
  etcd::TxnRequest each;
  *each.add_compare() = term_.Guard();
  *each.add_compare() = HasValue(end_key_, std::to_string(first));
  *each.add_failure() = Get(term_.key());
  *each.add_failure() = Get(end_key_);
  etcd::TxnRequest last = each;
  *last.add_success() = Put(end_key_, after);
  const absl::Duration start = RealClock().Steady();
  HR_RETURN_IF_ERROR(PutPieces(fmt::format("{}.{:016x}", EventKey(first), term_.created()), value,
                               each, last, [&](const etcd::TxnResponse& response) {
                                 const etcd::KeyValue* end = KeyValueOf(response, 1);
                                 // In our term nobody else moves it.
                                 return term_.IsOurs(KeyValueOf(response, 0)) && end != nullptr &&
                                        end->value() == after;
                               }));
  metrics_.fsync->Observe(RealClock().Steady() - start);
  metrics_.events->Add(group.events_size());
  metrics_.bytes->Add(static_cast<int64_t>(value.size()));
  bytes_since_ += value.size();
  return absl::OkStatus();
}

absl::Status EtcdJournal::PutPieces(const std::string& key, std::string_view value,
                                    const etcd::TxnRequest& each, const etcd::TxnRequest& last,
                                    absl::FunctionRef<bool(const etcd::TxnResponse&)> kept) {
  const size_t pieces =
      std::max<size_t>(1, (value.size() + options_.piece_bytes - 1) / options_.piece_bytes);
  if (pieces > kMostPieces) return ResourceExhausted("{} bytes in one event", value.size());
  for (size_t piece = 0; piece < pieces; ++piece) {
    const bool is_last = piece + 1 == pieces;
    etcd::TxnRequest txn = is_last ? last : each;
    const std::string_view part = value.substr(piece * options_.piece_bytes, options_.piece_bytes);
    *txn.add_success() = Put(PieceKey(key, pieces, piece), std::string(part));
    HR_ASSIGN_OR_RETURN(const etcd::TxnResponse response, Write(txn));
    if (response.succeeded() || (is_last && kept(response))) continue;
    return Refused(response);
  }
  return absl::OkStatus();
}

absl::Status EtcdJournal::Refused(const etcd::TxnResponse& response) {
  const etcd::KeyValue* leader = KeyValueOf(response, 0);
  if (!term_.IsOurs(leader)) {
    term_.Lose(leader == nullptr ? std::string("the lease has expired")
                                 : fmt::format("{} leads", leader->value()));
    return NotTheLeader(leader == nullptr ? std::string_view() : leader->value());
  }
  const etcd::KeyValue* other = KeyValueOf(response, 1);
  return Damaged(fmt::format("{} was changed by somebody else",
                             other == nullptr ? std::string("a key") : other->key()));
}

bool EtcdJournal::WantsCompaction() const {
  const auto least = static_cast<uint64_t>(options_.snapshot_after.value);
  const uint64_t bytes = bytes_since_;
  if (bytes >= std::max<uint64_t>(least, snapshot_bytes_)) return true;
  absl::MutexLock lock(&mutex_);
  return groups_.size() >= kManyGroups && bytes >= snapshot_bytes_ / 8;
}

uint64_t EtcdJournal::FirstGroupOf(uint64_t position) {
  if (position >= queue_.durable()) return position;
  absl::MutexLock lock(&mutex_);
  const auto behind = std::upper_bound(groups_.begin(), groups_.end(), position);
  return behind == groups_.begin() ? position : *(behind - 1);
}

absl::Status EtcdJournal::PutChunks(absl::FunctionRef<bool(std::string&)> next,
                                    v1::EtcdJournalMeta& meta) {
  etcd::TxnRequest guarded;
  *guarded.add_compare() = term_.Guard();
  *guarded.add_failure() = Get(term_.key());
  for (std::string chunk; next(chunk);) {
    HR_RETURN_IF_ERROR(PutPieces(ChunkKey(meta.snapshot(), meta.chunks()), chunk, guarded, guarded,
                                 [](const etcd::TxnResponse&) { return false; }));
    meta.set_chunks(meta.chunks() + 1);
    meta.set_bytes(meta.bytes() + chunk.size());
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> EtcdJournal::PutInForce(const v1::EtcdJournalMeta& meta) {
  const std::string value = meta.SerializeAsString();
  etcd::TxnRequest commit;
  *commit.add_compare() = term_.Guard();
  *commit.add_failure() = Get(term_.key());
  *commit.add_compare() = HasValue(meta_key_, meta_value_);
  *commit.add_success() = Put(meta_key_, value);
  *commit.add_failure() = Get(meta_key_);
  HR_ASSIGN_OR_RETURN(const etcd::TxnResponse response, Write(commit));
  if (!response.succeeded()) {
    const etcd::KeyValue* now = KeyValueOf(response, 1);
    if (now == nullptr || now->value() != value) return Refused(response);
  }
  meta_ = meta;
  meta_value_ = value;
  return response.header().revision();
}

absl::Status EtcdJournal::DeleteOld(int64_t revision) {
  etcd::TxnRequest chunks;
  *chunks.add_compare() = term_.Guard();
  *chunks.add_failure() = Get(term_.key());
  *chunks.add_success() =
      Delete(options_.prefix + "/s/", fmt::format("{}/s/{}", options_.prefix, meta_.snapshot()));
  HR_RETURN_IF_ERROR(Write(chunks).status());
  HR_RETURN_IF_ERROR(DeleteEventsBefore(meta_.first_group()));
  if (!options_.compact_history || revision <= 0) return absl::OkStatus();
  etcd::CompactionRequest history;
  history.set_revision(revision);
  const auto compacted = etcd_.Compact(history, kCallTimeout);
  if (!compacted.ok()) LogDebug("etcd keeps its history: {}", OneLine(compacted.status()));
  return absl::OkStatus();
}

absl::Status EtcdJournal::Compact(uint64_t position, absl::FunctionRef<bool(std::string&)> next) {
  const absl::Duration start = RealClock().Steady();
  const uint64_t since = bytes_since_;
  v1::EtcdJournalMeta meta = meta_;
  meta.set_snapshot(fmt::format("{:016x}-{:08x}", term_.created(), ++snapshots_made_));
  meta.set_position(position);
  meta.set_first_group(FirstGroupOf(position));
  meta.set_chunks(0);
  meta.set_bytes(0);
  HR_RETURN_IF_ERROR(PutChunks(next, meta));
  HR_ASSIGN_OR_RETURN(const int64_t revision, PutInForce(meta));
  bytes_since_ -= since;
  snapshot_bytes_ = meta.bytes();
  HR_RETURN_IF_ERROR(DeleteOld(revision));
  const absl::Duration took = RealClock().Steady() - start;
  metrics_.snapshots->Add();
  metrics_.snapshot_seconds->Add(took);
  metrics_.snapshot_bytes->Set(static_cast<double>(meta.bytes()));
  LogInfo("journal etcd {}: snapshot of {} bytes after {} events, in {}", options_.prefix,
          meta.bytes(), position, absl::FormatDuration(absl::Trunc(took, absl::Milliseconds(1))));
  return absl::OkStatus();
}

absl::Status EtcdJournal::DeleteEventsBefore(uint64_t first_group) {
  while (true) {
    uint64_t end = first_group;
    size_t lot = 0;
    {
      absl::MutexLock lock(&mutex_);
      while (lot < groups_.size() && groups_[lot] < first_group && lot < kDeletedAtOnce) ++lot;
      if (lot < groups_.size()) end = std::min(first_group, groups_[lot]);
    }
    etcd::TxnRequest txn;
    *txn.add_compare() = term_.Guard();
    *txn.add_success() = Delete(options_.prefix + "/e/", EventKey(end));
    *txn.add_failure() = Get(term_.key());
    HR_ASSIGN_OR_RETURN(const etcd::TxnResponse response, Write(txn));
    if (!response.succeeded()) return Refused(response);
    absl::MutexLock lock(&mutex_);
    groups_.erase(groups_.begin(), groups_.begin() + static_cast<ptrdiff_t>(lot));
    if (lot < kDeletedAtOnce) return absl::OkStatus();
  }
}

}  // namespace headrace
