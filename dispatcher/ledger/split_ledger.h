// What is known of one (split, pass) of a lane: which of its elements were delivered or settled,
// and when that is all of them. Elements are (record, part): a record cut into k parts is done when
// its k parts are. Part of State: no clock, no threads.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>

#include "dispatcher/ledger/run_set.h"
#include "headrace/v1/journal.pb.h"

namespace headrace::dispatch {

class SplitLedger {
 public:
  // Marks the run's elements as done. Returns how many were not.
  uint64_t Cover(const v1::Run& run);

  // The split was read to its end: so many of its records count.
  void SetTotal(uint64_t records) { total_ = records; }
  std::optional<uint64_t> total() const { return total_; }
  // So many whole records gave no output.
  void NoteSettled(uint64_t records) { settled_ += records; }
  // How many records become output, once that is known (records in parts may count although they do
  // not: then a restored split is read once more, no harm).
  std::optional<uint64_t> need() const {
    if (!total_.has_value() || settled_ > *total_) return std::nullopt;
    return *total_ - settled_;
  }

  // The reader stopped for good: nothing but `emitted` is still to come.
  void Abandon(const google::protobuf::RepeatedPtrField<v1::Run>& emitted);
  bool abandoned() const { return awaited_ != nullptr; }
  // A replay reads it again: what was abandoned may come to be needed.
  void Reopen() { awaited_ = nullptr; }

  // Nothing of it is still to come.
  bool Complete();
  // Nothing of records [first, end) is. For lanes in which all records count.
  bool CompleteIn(uint64_t first, uint64_t end) const;

  // Records that are done whole, and single parts of others.
  uint64_t records_done() const { return whole_.size(); }
  uint64_t records_done_in(uint64_t first, uint64_t end) const {
    return whole_.CountIn(first, end);
  }
  bool untouched() const { return whole_.empty() && parts_ == nullptr; }

  // What a later lease must leave out.
  void AppendSkip(uint64_t split, uint32_t pass,
                  google::protobuf::RepeatedPtrField<v1::Run>* skip) const;

  // For snapshots (split and pass are the lane's to fill in).
  void Keep(v1::KeptLedger& kept) const;
  absl::Status Reload(const v1::KeptLedger& kept);

 private:
  struct Parts {
    uint32_t parts = 0;  // of how many
    RunSet seen;
  };

  uint64_t CoverPart(uint64_t index, uint32_t part, uint32_t parts);
  bool Covered(const v1::Run& run) const;

  RunSet whole_;
  // Records of which some parts are done. Null for the many splits that have none.
  std::unique_ptr<std::map<uint64_t, Parts>> parts_;
  std::optional<uint64_t> total_;
  uint64_t settled_ = 0;
  // Set when abandoned: what is still to come (the front is dropped as it is covered).
  std::unique_ptr<std::deque<v1::Run>> awaited_;
};

}  // namespace headrace::dispatch
