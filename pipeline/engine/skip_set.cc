#include "pipeline/engine/skip_set.h"

#include <algorithm>

namespace headrace {

SkipSet::SkipSet(const google::protobuf::RepeatedPtrField<v1::Run>& runs) {
  for (const v1::Run& run : runs) {
    if (run.count() == 0) continue;
    if (run.parts() <= 1) {
      whole_.push_back({run.first(), run.first() + run.count()});
      continue;
    }
    for (uint64_t i = 0; i < run.count(); ++i)
      parts_.push_back({run.first() + i, run.parts(), run.part()});
  }
  std::sort(parts_.begin(), parts_.end());
  parts_.erase(std::unique(parts_.begin(), parts_.end()), parts_.end());
  for (size_t i = 0; i < parts_.size();) {
    size_t end = i;
    while (end < parts_.size() && parts_[end].index == parts_[i].index &&
           parts_[end].parts == parts_[i].parts)
      ++end;
    if (end - i == parts_[i].parts) whole_.push_back({parts_[i].index, parts_[i].index + 1});
    i = end;
  }
  MergeWhole();
  std::erase_if(parts_, [this](const Part& part) {
    size_t cursor = 0;
    return HasRecord(part.index, cursor);
  });
}

void SkipSet::MergeWhole() {
  std::sort(whole_.begin(), whole_.end(),
            [](const Span& a, const Span& b) { return a.begin < b.begin; });
  size_t kept = 0;
  for (const Span& span : whole_) {
    if (kept > 0 && span.begin <= whole_[kept - 1].end) {
      whole_[kept - 1].end = std::max(whole_[kept - 1].end, span.end);
    } else {
      whole_[kept++] = span;
    }
  }
  whole_.resize(kept);
}

bool SkipSet::HasRecord(uint64_t index, size_t& cursor) const {
  if (cursor < whole_.size() && index >= whole_[cursor].end) ++cursor;
  const bool near = (cursor == 0 || whole_[cursor - 1].end <= index) &&
                    (cursor == whole_.size() || index < whole_[cursor].end);
  if (!near) {
    cursor = static_cast<size_t>(
        std::upper_bound(whole_.begin(), whole_.end(), index,
                         [](uint64_t i, const Span& span) { return i < span.end; }) -
        whole_.begin());
  }
  return cursor < whole_.size() && whole_[cursor].begin <= index;
}

uint64_t SkipSet::CountElements(const Run& run) const {
  uint64_t count = 0;
  size_t cursor = 0;
  for (uint64_t i = run.first; i < run.first + run.count; ++i) {
    if (HasRecord(i, cursor) ||
        (run.parts > 1 &&
         std::binary_search(parts_.begin(), parts_.end(), Part{i, run.parts, run.part}))) {
      ++count;
    }
  }
  return count;
}

std::pair<uint32_t, uint64_t> SkipSet::PartsOf(uint64_t index) const {
  auto at = std::lower_bound(parts_.begin(), parts_.end(), Part{index, 0, 0});
  std::pair<uint32_t, uint64_t> found{0, 0};
  for (; at != parts_.end() && at->index == index; ++at) {
    found.first = at->parts;
    ++found.second;
  }
  return found;
}

std::vector<std::pair<uint32_t, uint64_t>> SkipSet::PartTotals() const {
  std::vector<std::pair<uint32_t, uint64_t>> totals;
  for (const Part& part : parts_) {
    auto at = std::find_if(totals.begin(), totals.end(),
                           [&](const auto& t) { return t.first == part.parts; });
    if (at == totals.end()) {
      totals.push_back({part.parts, 1});
    } else {
      ++at->second;
    }
  }
  return totals;
}

}  // namespace headrace
