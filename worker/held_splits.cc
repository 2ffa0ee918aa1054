#include "worker/held_splits.h"

#include <algorithm>

namespace headrace {

HeldSplits::Group& HeldSplits::Touch(const std::string& name) {
  const auto it = std::ranges::find(groups_, name, &Group::name);
  if (it == groups_.end()) {
    groups_.push_front({name, {}});
    if (groups_.size() > kGroups) groups_.pop_back();
  } else {
    groups_.splice(groups_.begin(), groups_, it);
  }
  return groups_.front();
}

void HeldSplits::Note(const std::string& group, uint32_t split, const CacheKey& key) {
  absl::MutexLock lock(&mutex_);
  Touch(group).splits.insert_or_assign(split, Place{key.place, key.version});
}

std::vector<uint32_t> HeldSplits::Tell(const std::string& group, const std::string& prefix,
                                       std::string_view tier) {
  std::vector<uint32_t> told;
  uint32_t last = 0;
  absl::MutexLock lock(&mutex_);
  auto& splits = Touch(group).splits;
  for (auto it = splits.begin(); it != splits.end();) {
    const auto& [split, at] = *it;
    if (!cache_.Holds({prefix, at.place, at.version}, tier)) {
      it = splits.erase(it);
      continue;
    }
    told.push_back(split - last);
    last = split;
    ++it;
  }
  return told;
}

}  // namespace headrace
