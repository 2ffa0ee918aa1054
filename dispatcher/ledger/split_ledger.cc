#include "dispatcher/ledger/split_ledger.h"

#include <algorithm>

#include "common/status.h"

namespace headrace::dispatch {

uint64_t SplitLedger::Cover(const v1::Run& run) {
  if (run.parts() <= 1) {
    if (parts_ != nullptr) {
      parts_->erase(parts_->lower_bound(run.first()),
                    parts_->lower_bound(run.first() + run.count()));
    }
    return whole_.Add(run.first(), run.count());
  }
  uint64_t added = 0;
  for (uint64_t i = 0; i < run.count(); ++i) {
    added += CoverPart(run.first() + i, run.part(), run.parts());
  }
  return added;
}

uint64_t SplitLedger::CoverPart(uint64_t index, uint32_t part, uint32_t parts) {
  if (whole_.Contains(index)) return 0;
  if (parts_ == nullptr) parts_ = std::make_unique<std::map<uint64_t, Parts>>();
  Parts& record = (*parts_)[index];
  record.parts = parts;
  const uint64_t added = record.seen.Add(part, 1);
  if (record.seen.size() >= record.parts) {
    parts_->erase(index);
    if (parts_->empty()) parts_ = nullptr;
    whole_.Add(index, 1);
  }
  return added;
}

bool SplitLedger::Covered(const v1::Run& run) const {
  if (whole_.ContainsAll(run.first(), run.count())) return true;
  if (run.parts() <= 1 || parts_ == nullptr) return false;
  for (uint64_t i = 0; i < run.count(); ++i) {
    const uint64_t index = run.first() + i;
    if (whole_.Contains(index)) continue;
    const auto it = parts_->find(index);
    if (it == parts_->end() || !it->second.seen.Contains(run.part())) return false;
  }
  return true;
}

void SplitLedger::Abandon(const google::protobuf::RepeatedPtrField<v1::Run>& emitted) {
  awaited_ = std::make_unique<std::deque<v1::Run>>(emitted.begin(), emitted.end());
}

bool SplitLedger::Complete() {
  if (awaited_ != nullptr) {
    while (!awaited_->empty() && Covered(awaited_->front())) awaited_->pop_front();
    if (awaited_->empty()) return true;
  }
  return total_.has_value() && whole_.size() >= *total_;
}

bool SplitLedger::CompleteIn(uint64_t first, uint64_t end) const {
  if (total_.has_value()) end = std::min(end, *total_);
  if (first >= end) return total_.has_value();
  return whole_.CountIn(first, end) == end - first;
}

void SplitLedger::AppendSkip(uint64_t split, uint32_t pass,
                             google::protobuf::RepeatedPtrField<v1::Run>* skip) const {
  const auto append = [&](uint64_t first, uint64_t count, uint32_t part, uint32_t parts) {
    v1::Run* run = skip->Add();
    run->set_split(split);
    run->set_first(first);
    run->set_count(count);
    run->set_part(part);
    run->set_parts(parts);
    run->set_pass(pass);
  };
  whole_.ForEachRun([&](uint64_t first, uint64_t count) { append(first, count, 0, 1); });
  if (parts_ == nullptr) return;
  for (const auto& [index, record] : *parts_) {
    record.seen.ForEachRun([&](uint64_t first, uint64_t count) {
      for (uint64_t part = first; part < first + count; ++part) {
        append(index, 1, static_cast<uint32_t>(part), record.parts);
      }
    });
  }
}

void SplitLedger::Keep(v1::KeptLedger& kept) const {
  whole_.Keep(*kept.mutable_whole());
  if (parts_ != nullptr) {
    for (const auto& [index, record] : *parts_) {
      v1::KeptParts& parts = *kept.add_parts();
      parts.set_record(index);
      parts.set_parts(record.parts);
      record.seen.Keep(*parts.mutable_seen());
    }
  }
  kept.set_has_total(total_.has_value());
  kept.set_total(total_.value_or(0));
  kept.set_settled(settled_);
  kept.set_abandoned(abandoned());
  if (awaited_ != nullptr) kept.mutable_awaited()->Assign(awaited_->begin(), awaited_->end());
}

absl::Status SplitLedger::Reload(const v1::KeptLedger& kept) {
  *this = SplitLedger();
  HR_RETURN_IF_ERROR(whole_.Reload(kept.whole()));
  if (kept.parts_size() != 0) parts_ = std::make_unique<std::map<uint64_t, Parts>>();
  for (const v1::KeptParts& part : kept.parts()) {
    Parts& record = (*parts_)[part.record()];
    record.parts = part.parts();
    HR_RETURN_IF_ERROR(record.seen.Reload(part.seen()));
  }
  if (kept.has_total()) total_ = kept.total();
  settled_ = kept.settled();
  if (kept.abandoned()) Abandon(kept.awaited());
  return absl::OkStatus();
}

}  // namespace headrace::dispatch
