#include "pipeline/tokenizer/word_cache.h"

#include <bit>
#include <utility>

namespace headrace {

void WordCache::Clear(size_t slots) {
  slots_.assign(slots, {});
  mask_ = slots - 1;
  words_ = 0;
  items_.clear();
}

void WordCache::Place(const Slot& slot) {
  size_t at = slot.hash & mask_;
  while (slots_[at].ids != 0) at = (at + 1) & mask_;
  slots_[at] = slot;
}

void WordCache::Add(std::string_view word, uint64_t hash, const Word& cut) {
  if (cut.ids.empty() || cut.ids.size() > UINT16_MAX || word.size() > kMaxWordBytes) return;
  if (words_ == kMaxWords) Clear(slots_.size());
  if (2 * (words_ + 1) > slots_.size()) {
    std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(2 * slots_.size()));
    mask_ = slots_.size() - 1;
    for (const Slot& slot : old) {
      if (slot.ids != 0) Place(slot);
    }
  }
  Place({.hash = hash,
         .items = static_cast<uint32_t>(items_.size()),
         .lead = cut.lead,
         .bytes = static_cast<uint16_t>(word.size()),
         .ids = static_cast<uint16_t>(cut.ids.size()),
         .scores = static_cast<uint16_t>(cut.scores.size())});
  const size_t text = items_.size() + cut.ids.size() + cut.scores.size();
  for (const int32_t id : cut.ids) items_.push_back(std::bit_cast<uint32_t>(id));
  for (const float score : cut.scores) items_.push_back(std::bit_cast<uint32_t>(score));
  items_.resize(text + (word.size() + 3) / 4);
  std::memcpy(items_.data() + text, word.data(), word.size());
  ++words_;
}

}  // namespace headrace
