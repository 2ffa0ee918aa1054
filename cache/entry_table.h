// The entries of a tier, by slot, and which of them goes first: of prefixes that nobody uses, the
// one that was used longest ago. Guarded by its tier's lock.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "cache/prefix_use.h"
#include "cache/tier.h"

namespace headrace {

// Entry has `const CacheKey key`.
template <typename Entry>
class EntryTable {
 public:
  // Whatever version; null when there is none. Counts as a use.
  std::shared_ptr<Entry> Use(const CacheKey& key) {
    const auto group = groups_.find(key.prefix);
    if (group == groups_.end()) return nullptr;
    const auto it = group->second.places.find(key.place);
    if (it == group->second.places.end()) return nullptr;
    it->second->used = ++uses_;
    group->second.order.splice(group->second.order.end(), group->second.order, it->second);
    return it->second->entry;
  }

  // In this version; not a use.
  bool Holds(const CacheKey& key) const {
    const auto group = groups_.find(key.prefix);
    if (group == groups_.end()) return false;
    const auto it = group->second.places.find(key.place);
    return it != group->second.places.end() && it->second->entry->key.version == key.version;
  }

  // Takes the place of an entry that was in its slot, and returns that.
  std::shared_ptr<Entry> Put(std::shared_ptr<Entry> entry) {
    std::shared_ptr<Entry> old = Take(entry->key);
    Group& group = groups_[entry->key.prefix];
    const std::string place = entry->key.place;
    group.order.push_back({std::move(entry), ++uses_});
    group.places[place] = std::prev(group.order.end());
    ++size_;
    return old;
  }

  // Out of the table; `only`, if given, must be what is there. Null: it is not.
  std::shared_ptr<Entry> Take(const CacheKey& key, const Entry* only = nullptr) {
    const auto group = groups_.find(key.prefix);
    if (group == groups_.end()) return nullptr;
    const auto it = group->second.places.find(key.place);
    if (it == group->second.places.end()) return nullptr;
    std::shared_ptr<Entry> entry = it->second->entry;
    if (only != nullptr && entry.get() != only) return nullptr;
    group->second.order.erase(it->second);
    group->second.places.erase(it);
    if (group->second.places.empty()) groups_.erase(group);
    --size_;
    return entry;
  }

  // The entry that goes next, out of the table; null when all are protected.
  std::shared_ptr<Entry> TakeVictim(const PrefixUse& prefixes) {
    const Item* victim = Victim(prefixes);
    return victim == nullptr ? nullptr : Take(CacheKey(victim->entry->key));
  }
  bool HasVictim(const PrefixUse& prefixes) const { return Victim(prefixes) != nullptr; }

  size_t size() const { return size_; }

 private:
  struct Item {
    std::shared_ptr<Entry> entry;
    uint64_t used = 0;
  };
  struct Group {
    std::list<Item> order;  // the one used longest ago in front
    std::map<std::string, typename std::list<Item>::iterator> places;
  };

  const Item* Victim(const PrefixUse& prefixes) const {
    const Item* oldest = nullptr;
    for (const auto& [prefix, group] : groups_) {
      const Item& first = group.order.front();
      if (oldest != nullptr && oldest->used < first.used) continue;
      if (!prefixes.Protects(prefix)) oldest = &first;
    }
    return oldest;
  }

  std::map<std::string, Group> groups_;  // by prefix: there are few
  uint64_t uses_ = 0;
  size_t size_ = 0;
};

}  // namespace headrace
