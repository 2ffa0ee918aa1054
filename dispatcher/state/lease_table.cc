#include "dispatcher/state/lease_table.h"

#include <algorithm>

namespace headrace::dispatch {

void LeaseTable::Add(const Lease& lease) {
  by_number_[lease.number] = lease;
  by_place_[{lease.lane, lease.item}].push_back(lease.number);
}

void LeaseTable::Remove(LeaseNumber number) {
  const auto it = by_number_.find(number);
  if (it == by_number_.end()) return;
  if (it->second.read_to_end) --read_to_end_;
  const auto place = by_place_.find({it->second.lane, it->second.item});
  place->second.erase(std::ranges::find(place->second, number));
  if (place->second.empty()) by_place_.erase(place);
  by_number_.erase(it);
}

Lease* LeaseTable::Find(LeaseNumber number) {
  const auto it = by_number_.find(number);
  return it == by_number_.end() ? nullptr : &it->second;
}

const Lease* LeaseTable::Find(LeaseNumber number) const {
  const auto it = by_number_.find(number);
  return it == by_number_.end() ? nullptr : &it->second;
}

absl::Span<const LeaseNumber> LeaseTable::At(uint32_t lane, SplitPass item) const {
  const auto it = by_place_.find({lane, item});
  return it == by_place_.end() ? absl::Span<const LeaseNumber>() : absl::MakeSpan(it->second);
}

void LeaseTable::MarkReadToEnd(Lease& lease) {
  if (!lease.read_to_end) ++read_to_end_;
  lease.read_to_end = true;
}

}  // namespace headrace::dispatch
