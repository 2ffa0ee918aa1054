#include "dispatcher/state/lease_table.h"

namespace headrace::dispatch {

void LeaseTable::Add(const Lease& lease) {
  by_number_[lease.number] = lease;
  by_place_[{lease.lane, lease.item}] = lease.number;
}

void LeaseTable::Remove(LeaseNumber number) {
  const auto it = by_number_.find(number);
  if (it == by_number_.end()) return;
  if (it->second.read_to_end) --read_to_end_;
  by_place_.erase({it->second.lane, it->second.item});
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

const Lease* LeaseTable::At(uint32_t lane, SplitPass item) const {
  const auto it = by_place_.find({lane, item});
  return it == by_place_.end() ? nullptr : Find(it->second);
}

void LeaseTable::MarkReadToEnd(Lease& lease) {
  if (!lease.read_to_end) ++read_to_end_;
  lease.read_to_end = true;
}

}  // namespace headrace::dispatch
