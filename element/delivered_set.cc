#include "element/delivered_set.h"

#include <algorithm>
#include <string>

#include "common/status.h"
#include "element/roaring_reader.h"

namespace headrace {
namespace {

// Spans of splits that follow each other.
class SpanWriter {
 public:
  explicit SpanWriter(google::protobuf::RepeatedPtrField<v1::SplitSpan>* spans) : spans_(spans) {}

  void Add(uint32_t pass, uint64_t split, uint64_t number) {
    if (span_ == nullptr || span_->pass() != pass || split != next_) {
      Close();
      span_ = spans_->Add();
      span_->set_split(split);
      span_->set_pass(pass);
    }
    next_ = split + 1;
    span_->add_numbers(number);
  }
  // All the same number: said once.
  void Close() {
    if (span_ == nullptr || span_->numbers_size() < 2) return;
    const uint64_t first = span_->numbers(0);
    if (std::ranges::any_of(span_->numbers(), [&](uint64_t n) { return n != first; })) return;
    span_->set_repeat(static_cast<uint64_t>(span_->numbers_size()));
    span_->mutable_numbers()->Truncate(1);
  }

 private:
  google::protobuf::RepeatedPtrField<v1::SplitSpan>* const spans_;
  v1::SplitSpan* span_ = nullptr;
  uint64_t next_ = 0;
};

std::string Portable(Roaring& bits) {
  bits.runOptimize();
  std::string out(bits.getSizeInBytes(), '\0');
  out.resize(bits.write(out.data()));
  return out;
}

absl::Status CheckPlace(uint64_t split) {
  if (split < DeliveredSet::kMost) return absl::OkStatus();
  return InvalidArgument("split {} is beyond any dataset's", split);
}

// each(split, number) for all splits of a span.
template <typename Each>
absl::Status ReadSpan(const v1::SplitSpan& span, uint64_t& budget, Each each) {
  const auto given = static_cast<uint64_t>(span.numbers_size());
  const uint64_t count = span.repeat() != 0 ? span.repeat() : given;
  if (given == 0 || (span.repeat() != 0 && given != 1)) {
    return InvalidArgument("a span of splits has {} numbers for {}", given, span.repeat());
  }
  if (count > budget) return InvalidArgument("it names over {} splits", DeliveredSet::kMostSplits);
  budget -= count;
  HR_RETURN_IF_ERROR(CheckPlace(span.split()));
  HR_RETURN_IF_ERROR(CheckPlace(span.split() + count - 1));
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t number = span.numbers(span.repeat() != 0 ? 0 : static_cast<int>(i));
    if (number > DeliveredSet::kMost) {
      return InvalidArgument("split {} has {} records", span.split() + i, number);
    }
    each(span.split() + i, number);
  }
  return absl::OkStatus();
}

}  // namespace

void DeliveredSet::AddRecords(Records& records, uint64_t first, uint64_t count) {
  if (count == 0 || first >= kMost) return;
  const uint64_t end = std::min(kMost, first + std::min(count, kMost));
  if (first > records.prefix) {
    if (records.rest == nullptr) records.rest = std::make_unique<Roaring>();
    if (count == 1) {
      records.rest->add(static_cast<uint32_t>(first));
    } else {
      records.rest->addRange(first, end);
    }
    return;
  }
  if (end <= records.prefix) return;
  records.prefix = end;
  if (records.rest == nullptr) return;
  // What lies behind may follow on now.
  Roaring& rest = *records.rest;
  if (rest.minimum() < records.prefix) {
    roaring_bitmap_remove_range(&rest.roaring, 0, records.prefix);
  }
  if (!rest.isEmpty() && rest.minimum() == records.prefix) {
    uint64_t next = records.prefix;
    for (auto it = rest.begin(); it != rest.end() && *it == next; ++it) ++next;
    roaring_bitmap_remove_range(&rest.roaring, records.prefix, next);
    records.prefix = next;
  }
  if (rest.isEmpty()) records.rest = nullptr;
}

void DeliveredSet::AddPart(const Run& run, uint64_t index) {
  const Place place{run.pass, run.split};
  const auto at = splits_.find(place);
  if (at != splits_.end() &&
      (index < at->second.prefix ||
       (at->second.rest != nullptr && at->second.rest->contains(static_cast<uint32_t>(index))))) {
    return;
  }
  const auto key = std::pair(place, index);
  Parts& parts = parts_[key];
  parts.parts = run.parts;
  const auto seen = std::ranges::lower_bound(parts.seen, run.part);
  if (seen == parts.seen.end() || *seen != run.part) parts.seen.insert(seen, run.part);
  if (parts.seen.size() < parts.parts) return;
  parts_.erase(key);
  AddRecords(splits_[place], index, 1);
}

void DeliveredSet::Add(const Run& run) {
  if (run.count == 0) return;
  const Place place{run.pass, run.split};
  if (run.parts <= 1) {
    if (!parts_.empty()) {
      parts_.erase(parts_.lower_bound({place, run.first}),
                   parts_.lower_bound({place, run.first + run.count}));
    }
    AddRecords(splits_[place], run.first, run.count);
    return;
  }
  for (uint64_t i = 0; i < run.count; ++i) AddPart(run, run.first + i);
}

void DeliveredSet::SetNeed(uint64_t split, uint32_t pass, uint64_t need) {
  splits_[{pass, split}].need = need;
}

void DeliveredSet::Clear() {
  splits_.clear();
  parts_.clear();
}

uint64_t DeliveredSet::records() const {
  uint64_t sum = 0;
  for (const auto& [place, records] : splits_) {
    sum += records.prefix + (records.rest == nullptr ? 0 : records.rest->cardinality());
  }
  return sum;
}

uint64_t DeliveredSet::split_bound() const {
  uint64_t bound = 0;
  for (const auto& [place, records] : splits_) bound = std::max(bound, place.second + 1);
  for (const auto& [key, parts] : parts_) bound = std::max(bound, key.first.second + 1);
  return bound;
}

uint64_t DeliveredSet::pass_bound() const {
  uint64_t bound = 0;
  for (const auto& [place, records] : splits_) bound = std::max(bound, uint64_t{place.first} + 1);
  for (const auto& [key, parts] : parts_) bound = std::max(bound, uint64_t{key.first.first} + 1);
  return bound;
}

bool DeliveredSet::Contains(const Run& run) const {
  const auto it = splits_.find({run.pass, run.split});
  for (uint64_t i = run.first; i < run.first + run.count; ++i) {
    if (it != splits_.end() &&
        (i < it->second.prefix || (i < kMost && it->second.rest != nullptr &&
                                   it->second.rest->contains(static_cast<uint32_t>(i))))) {
      continue;
    }
    const auto parts = parts_.find({{run.pass, run.split}, i});
    if (run.parts <= 1 || parts == parts_.end() ||
        !std::ranges::binary_search(parts->second.seen, run.part)) {
      return false;
    }
  }
  return true;
}

std::vector<DeliveredSet::Place> DeliveredSet::Places() const {
  std::vector<Place> places;
  places.reserve(splits_.size());
  for (const auto& [place, records] : splits_) places.push_back(place);
  std::ranges::sort(places);
  return places;
}

v1::DeliveredSet DeliveredSet::EncodeShare(uint64_t which, uint64_t of) const {
  v1::DeliveredSet out;
  SpanWriter prefixes(out.mutable_prefixes());
  SpanWriter needs(out.mutable_needs());
  for (const Place& place : Places()) {
    const auto& [pass, split] = place;
    if (split % of != which) continue;
    const Records& records = splits_.find(place)->second;
    if (records.need != kUnknown) needs.Add(pass, split, records.need);
    if (records.prefix != 0) prefixes.Add(pass, split, records.prefix);
    if (records.rest == nullptr) continue;
    v1::OpenSplit* open = out.add_open();
    open->set_split(split);
    open->set_pass(pass);
    open->set_records(Portable(*records.rest));
  }
  prefixes.Close();
  needs.Close();
  for (const auto& [key, record] : parts_) {
    const auto& [place, index] = key;
    if (place.second % of != which) continue;
    for (const uint32_t part : record.seen) {
      v1::Run* run = out.add_parts();
      run->set_split(place.second);
      run->set_pass(place.first);
      run->set_first(index);
      run->set_count(1);
      run->set_part(part);
      run->set_parts(record.parts);
    }
  }
  return out;
}

absl::Status DeliveredSet::Merge(const v1::DeliveredSet& encoded) {
  DeliveredSet other;
  HR_RETURN_IF_ERROR(other.MergeChecked(encoded));
  if (empty()) {
    *this = std::move(other);
    return absl::OkStatus();
  }
  other.ForEachRun([this](const Run& run) { Add(run); });
  for (const auto& [place, records] : other.splits_) {
    if (records.need == kUnknown) continue;
    splits_[place].need = records.need;
  }
  return absl::OkStatus();
}

absl::Status DeliveredSet::MergeChecked(const v1::DeliveredSet& encoded) {
  uint64_t budget = kMostSplits;
  for (const v1::SplitSpan& span : encoded.prefixes()) {
    HR_RETURN_IF_ERROR(ReadSpan(span, budget, [&](uint64_t split, uint64_t number) {
      AddRecords(splits_[{span.pass(), split}], 0, number);
    }));
  }
  for (const v1::OpenSplit& open : encoded.open()) {
    HR_RETURN_IF_ERROR(CheckPlace(open.split()));
    Records& records = splits_[{open.pass(), open.split()}];
    if (absl::Status status = ReadPortableRoaring(
            open.records(),
            [&](uint64_t first, uint64_t count) { AddRecords(records, first, count); });
        !status.ok()) {
      return Annotate(status, fmt::format("split {} pass {}", open.split(), open.pass()));
    }
  }
  for (const v1::Run& run : encoded.parts()) {
    HR_RETURN_IF_ERROR(CheckPlace(run.split()));
    if (run.parts() < 2 || run.part() >= run.parts() || run.count() != 1 || run.first() >= kMost) {
      return InvalidArgument("split {} record {}: part {} of {}", run.split(), run.first(),
                             run.part(), run.parts());
    }
    Add({run.split(), run.first(), 1, run.part(), run.parts(), run.pass()});
  }
  budget = kMostSplits;
  for (const v1::SplitSpan& span : encoded.needs()) {
    HR_RETURN_IF_ERROR(ReadSpan(span, budget, [&](uint64_t split, uint64_t number) {
      splits_[{span.pass(), split}].need = number;
    }));
  }
  return absl::OkStatus();
}

void DeliveredSet::ForEachRun(absl::FunctionRef<void(const Run&)> each) const {
  for (const Place& place : Places()) {
    const auto& [pass, split] = place;
    const Records& records = splits_.find(place)->second;
    if (records.prefix != 0) each({split, 0, records.prefix, 0, 1, pass});
    if (records.rest == nullptr) continue;
    Run run{split, 0, 0, 0, 1, pass};
    for (const uint32_t index : *records.rest) {
      if (run.count != 0 && index == run.first + run.count) {
        ++run.count;
        continue;
      }
      if (run.count != 0) each(run);
      run.first = index;
      run.count = 1;
    }
    if (run.count != 0) each(run);
  }
  for (const auto& [key, record] : parts_) {
    for (const uint32_t part : record.seen) {
      each({key.first.second, key.second, 1, part, record.parts, key.first.first});
    }
  }
}

void DeliveredSet::ForEachNeed(absl::FunctionRef<void(uint64_t, uint32_t, uint64_t)> each) const {
  for (const Place& place : Places()) {
    const Records& records = splits_.find(place)->second;
    if (records.need != kUnknown) each(place.second, place.first, records.need);
  }
}

}  // namespace headrace
